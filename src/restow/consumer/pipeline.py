"""The interface between a consumer process and its pipeline, which reads, transforms and stores records.

There are two pipelines: pipeline/pipeline.py on Spark and Delta, and pipeline/light/pipeline.py on SQLite. Both keep
two promises. A batch is stored together with the next offset of each of its partitions, and the table takes both if and
only if its own offsets are those at which the cycle began: a consumer that was replaced is refused. And opening a
partition records its start offset in the table: a consumer that crashes before it stored anything starts at the same
offset, even if that was `latest` once.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from restow.consumer.checkpoint import Suspect, TableWrite
from restow.consumer.effects import ChangeAssignment, RunCycle
from restow.consumer.events import AssignmentChanged, CycleEnded
from restow.protocol.field_types import BrokenTransforms
from restow.protocol.topic_service import TopicService

ShouldEnd = Callable[[], bool]
"""Returns whether the running work should end soon: a command waits for it, or the process is to exit. Pipelines call
it several times a second during long work, because it also polls for commands and sends heartbeats."""


class Plans(Protocol):
    """Stores the plan of the running cycle for the next process of this consumer. The consumer's volume implements
    it."""

    def read_plan(self) -> tuple[TableWrite, ...]:
        """Returns the plan of the cycle that was running when the previous process ended; empty if there was none."""

    def write_plan(self, writes: tuple[TableWrite, ...]) -> None:
        """Returns when the plan is on disk. Raises RestowError."""

    def forget_plan(self) -> None:
        """Removes the plan: its cycle is over. Raises RestowError."""

    def read_suspects(self) -> tuple[Suspect, ...]:
        """Returns the ranges that earlier processes of this consumer crashed on."""

    def write_suspects(self, suspects: tuple[Suspect, ...]) -> None:
        """Returns when they are on disk. Raises RestowError."""


class Pipeline(Protocol):
    def warm_up(self, should_end: ShouldEnd) -> None:
        """Prepares until the first cycle would be as fast as later ones; then the consumer reports that it is ready."""

    def broken_transforms(self, services: Iterable[TopicService], should_end: ShouldEnd) -> BrokenTransforms:
        """The transforms of these topics that can't be run, tried without records."""

    def change(self, change: ChangeAssignment) -> AssignmentChanged:
        """Closes and opens partitions, in bounded time. A partition starts at its table's offset, else at the offset
        in the command, else at the group's committed offset, else at the topic's start setting."""

    def cycle(self, cycle: RunCycle, should_end: ShouldEnd) -> CycleEnded:
        """Reads, stores and commits up to the limits of a cycle, or waits that long for data. A table that can't be
        written is retried in a later cycle; the other tables continue."""

    def dump_threads(self) -> None:
        """Writes the stacks of all threads to the log. Works while a cycle hangs."""

    def close(self) -> None: ...
