"""The checkers of progress: the group recovers after the faults, and unanswered commands don't pile up."""

from typing import TYPE_CHECKING, Final

from restow.controller.stuck import STUCK
from restow.controller.transitions import Stage
from restow.model import ConsumerId, TopicPartition
from restow.simulator.checkers.closings import closing_takes_s
from restow.simulator.checkers.report import LATE_S, Report

if TYPE_CHECKING:
    from restow.simulator.controller import ControllerProcess
    from restow.simulator.world import World

MOST_UNANSWERED: Final = 100


class Runaway(Exception):
    """The run can't recover, and is ended."""


class Bounded:
    def __init__(self, report: Report) -> None:
        self._report = report

    def sent(self, controller: "ControllerProcess", consumer: ConsumerId) -> None:
        view = controller.state.consumers.get(consumer)
        if view is not None and len(view.sent) > MOST_UNANSWERED:
            self._report(4, f"consumer {consumer} has {len(view.sent)} unanswered commands, and gets more")
            raise Runaway


class Progress:
    """After the faults every consumed partition is read by one consumer, records are stored, backlogs shrink, no idle
    consumer is left, no topic is flagged as failing, and the controller comes to rest. In a group that people hold to
    the end, idle consumers and backlogs stay. The backlogs of suspects may grow: these stay with a consumer that
    crashed twice, which reads them by turns. What was a suspect in the middle of the quiet period has no earlier
    backlog to compare with."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._rested_s = 0.0
        self._read_by_one_s: dict[TopicPartition, float] = {}
        self._reading_s: dict[ConsumerId, float] = {}
        self._behind: dict[TopicPartition, int] = {}
        self._suspected: frozenset[TopicPartition] = frozenset()
        """Suspects in the middle of the quiet period."""

    def rested(self, now_s: float) -> None:
        """The controller was in Sentinel, if only for a moment: under a growing load it does not stay there."""
        self._rested_s = now_s

    def sample(self, world: "World") -> None:
        now_s = world.agenda.now_s
        controller = world.controller_in_charge()
        if controller is not None and controller.state.stage is Stage.SENTINEL:
            self.rested(now_s)
        readers, consumed = world.watch.one_reader.readers, list(world.consumed())
        reading = {process for each in consumed for process in readers.get(each, ()) if not process.is_frozen}
        if controller is not None and controller.state.is_parked:
            unread = (each for each in consumed if reading.isdisjoint(readers.get(each, ())))
            parked = [each for each in unread if not world.measures.waiting_records(each, now_s)]
            self._read_by_one_s |= dict.fromkeys(parked, now_s)  # nothing is left to read
        alone = [each for each in consumed if len(readers.get(each, ())) == 1 and readers[each][0] in reading]
        self._read_by_one_s |= dict.fromkeys(alone, now_s)
        busy = {process.number for process in reading}
        self._reading_s = {n: now_s if n in busy else self._reading_s.get(n, now_s) for n in world.platform.pods}

    def remember(self, world: "World") -> None:
        """The lag of each partition in the middle of the quiet period."""
        now_s = world.agenda.now_s
        self._behind = {each: world.measures.waiting_records(each, now_s) for each in world.consumed()}
        self._suspected = _suspects(world)

    def end(self, world: "World") -> None:
        now_s, is_held, controller = world.agenda.now_s, world.is_held, world.controller_in_charge()
        suspects = self._suspected | _suspects(world)
        if now_s - self._rested_s > LATE_S:
            self._report(4, f"the controller has not been in Sentinel for {now_s - self._rested_s:.0f} s")
        for partition in world.consumed():
            unread_s = now_s - self._read_by_one_s.get(partition, 0.0)
            if unread_s > LATE_S:
                readers = len(world.watch.readers(partition))
                self._report(4, f"{partition} has been read by {readers} consumers instead of one for {unread_s:.0f} s")
                continue
            if is_held or partition in suspects:
                continue
            age_s = world.measures.waiting_s(partition, now_s)
            behind, before = world.measures.waiting_records(partition, now_s), self._behind.get(partition, 0)
            if age_s > LATE_S and behind >= before:
                self._report(4, f"{partition} lags by {behind} records and {age_s:.0f} s, and by {before} before")
        busy_s = [since_s for since_s in self._reading_s.values() if now_s - since_s < LATE_S]
        for consumer, since_s in sorted(self._reading_s.items()):
            spares = world.rules.controller.spares
            is_needed = len(self._reading_s) <= world.least_consumers + spares or is_held
            is_needed = is_needed or len(self._reading_s) - len(busy_s) <= spares
            if now_s - since_s > 2 * LATE_S + closing_takes_s(world.rules.controller) and not is_needed:
                self._report(4, f"consumer {consumer} has read nothing for {now_s - since_s:.0f} s and still exists")
        for process in world.processes:
            if process.is_alive and process.is_disowned:
                self._report(4, f"a process of consumer {process.number} still runs, unknown to the platform")
        if controller is not None and STUCK in controller.state.flags:
            self._report(4, f"partitions are flagged as stuck: {controller.state.flags[STUCK]}")
        for partition in controller.state.failing if controller is not None else ():
            self._report(4, f"{partition} is flagged as failing, although its table can be written")


def _suspects(world: "World") -> frozenset[TopicPartition]:
    controller = world.controller_in_charge()
    return frozenset() if controller is None else controller.state.suspects
