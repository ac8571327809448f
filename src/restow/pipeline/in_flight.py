"""What is under way: the plan of a cycle, which is on the volume before anything of it is done, and what becomes of a
cycle that does not end as planned. The Spark pipeline keeps one.

A table takes a cycle's files and offsets together or not at all, so that nothing here decides what is stored. What it
gives: a process that comes after a crash knows what was under way, has the table refuse it from then on if it was not
taken, and removes its files at once; and where a commit's answer got lost, the table is asked before anything goes on.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from restow.consumer.checkpoint import TableWrite
from restow.consumer.pipeline import Plans
from restow.consumer.planning import Range
from restow.errors import RestowError
from restow.model import SortedMapping, TopicPartition
from restow.pipeline.sinks import Sink
from restow.pipeline.start_offsets import Sinks, Target
from restow.pipeline.table import Span


@dataclass(frozen=True, slots=True)
class Undertaking:
    """A cycle's work for one target."""

    target: Target
    ranges: Mapping[TopicPartition, Range]
    sink: Sink
    staging: str

    @property
    def stage(self) -> TableWrite:
        first = {partition: taken.position for partition, taken in self.ranges.items()}
        after = {partition: taken.next for partition, taken in self.ranges.items()}
        return TableWrite(self.target.table, self.staging, SortedMapping(first), SortedMapping(after))


class NoPlans:
    """Of one that has no volume, and whom no process comes after."""

    def read_plan(self) -> tuple[TableWrite, ...]:
        return ()

    def write_plan(self, stages: tuple[TableWrite, ...]) -> None:
        pass

    def forget_plan(self) -> None:
        pass


class UnderWay:
    def __init__(self, plans: Plans, sinks: Sinks, say: Callable[[str], None]) -> None:
        self._plans, self._sinks, self._say = plans, sinks, say
        self._doubtful: list[Undertaking] = []
        """In the order they were begun: tables tell a cycle from those before it."""
        self._is_written = False
        """A plan, by this process."""
        self._volume_fails = False

    def recover(self) -> None:
        """Settles what the process before left half done."""
        for stage in self._plans.read_plan():
            sink = self._sinks.of(Target(stage.table, "", lineage=True))
            try:
                is_taken = sink.settle(stage.directory, _spans(stage))
            except RestowError as error:
                self._say(f"what was under way when the process before ended is left to be swept: {error}")
                continue
            outcome = "was stored" if is_taken else "was not stored, and nothing is left of it"
            self._say(f"what was under way when the process before ended, {_words(stage)} for {sink.name}, {outcome}")
        self._on_volume(self._plans.forget_plan)

    def begin(self, undertakings: Iterable[Undertaking]) -> None:
        """On the disk when this returns. A volume that fails is said and stops nothing: tables are right without it."""
        self._is_written = True
        stages = tuple(each.stage for each in (*self._doubtful, *undertakings))
        self._on_volume(lambda: self._plans.write_plan(stages))

    def end(self) -> None:
        """An idle cycle has begun nothing, and finds nothing to do here."""
        if self._is_written and not self._doubtful:
            self._is_written = False
            self._on_volume(self._plans.forget_plan)

    def doubt(self, undertaking: Undertaking) -> None:
        """It was begun, and nobody said that it was stored."""
        self._doubtful.append(undertaking)

    def is_doubtful(self, target: Target) -> bool:
        """Something is to be settled in its table, and nothing to be stored there before."""
        return any(each.target.table == target.table for each in self._doubtful)

    def doubted(self) -> tuple[Undertaking, ...]:
        return tuple(self._doubtful)

    def settle(self, undertaking: Undertaking) -> bool:
        """Whether it was stored; from now on that is certain. Raises RestowError: it is as doubtful as before."""
        is_taken = undertaking.sink.settle(undertaking.staging, _spans(undertaking.stage))
        self._doubtful.remove(undertaking)
        return is_taken

    def _on_volume(self, act: Callable[[], None]) -> None:
        try:
            act()
        except RestowError as error:
            if not self._volume_fails:
                self._say(f"{error}; the data goes on, and a crash would leave files that are swept later")
            self._volume_fails = True
        else:
            self._volume_fails = False


def _spans(stage: TableWrite) -> dict[TopicPartition, Span]:
    return {partition: Span(first, stage.next[partition]) for partition, first in stage.first.items()}


def _words(stage: TableWrite) -> str:
    return ", ".join(f"{p} from {first} to {stage.next[p] - 1}" for p, first in stage.first.items())
