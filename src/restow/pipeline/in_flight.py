"""Cycles in flight: the plan of a cycle, written to the volume before the cycle starts, and cycles with unknown
outcome.

A table takes a cycle's files and offsets together or not at all, so nothing here decides what is stored. It serves two
purposes. After a crash the next process knows which cycle was running, has the table refuse it if it was not taken, and
removes its files at once. And where the answer to a commit was lost, the table is asked before the target continues.
"""

import logging
from collections.abc import Iterable, Mapping

from restow.consumer.checkpoint import Suspect, TableWrite
from restow.consumer.pipeline import Plans
from restow.errors import RestowError
from restow.model import SortedMapping, TopicPartition
from restow.pipeline.sinks import OpenSinks, Span
from restow.pipeline.targets import Target, TargetCycle

log = logging.getLogger(__name__)


class NoPlans:
    """For a pipeline without a volume, such as `restow consume --once`."""

    def read_plan(self) -> tuple[TableWrite, ...]:
        return ()

    def write_plan(self, writes: tuple[TableWrite, ...]) -> None:
        pass

    def forget_plan(self) -> None:
        pass

    def read_suspects(self) -> tuple[Suspect, ...]:
        return ()

    def write_suspects(self, suspects: tuple[Suspect, ...]) -> None:
        pass


class InFlight:
    def __init__(self, plans: Plans, sinks: OpenSinks) -> None:
        self._plans, self._sinks = plans, sinks
        self._uncertain: list[TargetCycle] = []
        """In the order in which they began: a table refuses cycles that are older than the last one it took."""
        self._has_written_plan = False
        self._volume_fails = False

    def recover(self) -> list[TableWrite]:
        """Settles the cycle that was running when the previous process of this consumer ended. Returns the writes that
        were not stored."""
        lost = []
        for write in self._plans.read_plan():
            sink, spans = self._sinks.of(write.table), _spans(write)
            try:
                is_stored = sink.settle(write.directory, spans)
            except RestowError as error:
                log.warning("files of the interrupted cycle of the previous process are left for vacuum: %s", error)
                continue
            if not is_stored:
                lost.append(write)
            outcome = "was stored" if is_stored else "was not stored, and its files are removed"
            log.info("interrupted cycle of the previous process: %s for %s %s", _text(spans), sink.name, outcome)
        self._forget()
        return lost

    def begin(self, cycles: Iterable[TargetCycle]) -> None:
        """Returns when the plan is on disk, or the volume failed. Cycles are correct without a plan."""
        self._has_written_plan = True
        writes = tuple(_table_write(cycle) for cycle in (*self._uncertain, *cycles))
        self._write(writes)

    def end(self) -> None:
        """Removes the plan, unless a cycle's outcome is uncertain. Does nothing after an idle cycle, which has none."""
        if self._has_written_plan and not self._uncertain:
            self._has_written_plan = False
            self._forget()

    def mark_uncertain(self, cycle: TargetCycle) -> None:
        """The cycle began, and no answer confirmed that it was stored."""
        self._uncertain.append(cycle)

    def is_uncertain(self, target: Target) -> bool:
        """Whether a cycle must be settled in the target's table before anything more is stored there."""
        return any(cycle.target.table == target.table for cycle in self._uncertain)

    def uncertain(self) -> tuple[TargetCycle, ...]:
        return tuple(self._uncertain)

    def settle(self, cycle: TargetCycle) -> bool:
        """Returns whether the cycle was stored. Raises RestowError if the sink fails: the cycle stays uncertain."""
        is_stored = cycle.sink.settle(cycle.staging, cycle.spans)
        self._uncertain.remove(cycle)
        return is_stored

    def _write(self, writes: tuple[TableWrite, ...]) -> None:
        try:
            self._plans.write_plan(writes)
        except RestowError as error:
            self._volume_failed(error)
            return
        if self._volume_fails:
            self._volume_fails = False
            log.info("plans of cycles are written to the volume again")

    def _forget(self) -> None:
        try:
            self._plans.forget_plan()
        except RestowError as error:
            self._volume_failed(error)

    def _volume_failed(self, error: RestowError) -> None:
        """Logs once, until a plan is written again. Removing a plan does not show that the volume works: a full disk
        allows it too."""
        if not self._volume_fails:
            log.warning("%s; cycles continue, but after a crash their files stay until vacuum removes them", error)
        self._volume_fails = True


def _table_write(cycle: TargetCycle) -> TableWrite:
    first = {partition: taken.position for partition, taken in cycle.ranges.items()}
    after = {partition: taken.next for partition, taken in cycle.ranges.items()}
    return TableWrite(cycle.target.table, cycle.staging, SortedMapping(first), SortedMapping(after))


def _spans(write: TableWrite) -> dict[TopicPartition, Span]:
    return {partition: Span(first, write.next[partition]) for partition, first in write.first.items()}


def _text(spans: Mapping[TopicPartition, Span]) -> str:
    return ", ".join(f"{partition} from {span.first} to {span.next - 1}" for partition, span in spans.items())
