"""The checkers of what controllers read: bad measurements and other groups' messages change nothing."""

from restow.controller.state import State
from restow.simulator.checkers.report import Report
from restow.simulator.wire import Intruder, Measured


class OnlyMeasured:
    def __init__(self, report: Report) -> None:
        self._report = report

    def measured(self, record: Measured, before: State, after: State) -> None:
        known = before.measured
        if record.sent is not None and record.event.speeds != record.sent.speeds:
            self._report(5, f"the measurement of {record.sent.time} is not as the monitor sent it")
        if record.is_nonsense and after.measured is not known and not before.speeds_are_stale:
            self._report(5, f"a bad measurement of {record.event.time} is believed")
        fastest = after.rules.controller.fastest_partition_bytes_per_s
        if after.measured is None or after.measured is known:
            return
        if max(after.measured.speeds.values(), default=0.0) > fastest:
            for partition, speed in after.measured.speeds.items():
                if speed > fastest:
                    self._report(5, f"{partition} is believed to be written at {speed:g} bytes/s")
        if known is not None and list(record.event.speeds) != list(known.speeds):
            for partition in known.speeds.keys() - after.measured.speeds.keys():
                if after.service_of(partition.topic) is not None:
                    self._report(5, f"{partition} was not measured and counts as idle")


class OnlyOurs:
    """A process that gets nothing from a record of another group can't change anything by it."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def opened(self, record: object, read: object) -> None:
        if isinstance(record, Intruder) and read is not None:
            self._report(5, f"a {type(read).__name__} of another group is read as this group's")
