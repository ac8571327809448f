"""What a consumer process asks of whatever reads, transforms and stores for it. `light.py` is one without Spark.

Two things make a table safe, and every pipeline keeps them. What is stored carries the next offset of its partitions,
and is taken if and only if the table's own offsets are those that the cycle began at: a consumer that was replaced is
refused. And a partition that is opened is known to its table from then on: a consumer that crashes before it has stored
anything goes on at the same offset, even where that was `latest` once.
"""

from collections.abc import Callable
from typing import Protocol

from restow.consumer.checkpoint import Stage
from restow.consumer.effects import ChangeAssignment, RunCycle
from restow.consumer.events import AssignmentChanged, CycleEnded

Meanwhile = Callable[[], bool]
"""To be called several times a second while something takes long. It listens for commands, and tells whether somebody
waits for the cycle to end: then nothing more is waited for."""


class Plans(Protocol):
    """Where a pipeline writes what it is about to do, for the process after it: the consumer's volume."""

    def read_plan(self) -> tuple[Stage, ...]:
        """Of the cycle that was under way when the process before ended; nothing where none was."""

    def write_plan(self, stages: tuple[Stage, ...]) -> None:
        """When this returns it is on the disk. Raises RestowError."""

    def forget_plan(self) -> None:
        """Nothing of it is half done any more."""


class Pipeline(Protocol):
    def warm_up(self, is_to_end: Meanwhile) -> None:
        """Until the first cycle would be as quick as the next ones; then the consumer tells that it is ready."""

    def change(self, change: ChangeAssignment) -> AssignmentChanged:
        """Closes and opens partitions, within a limited time. The position of one that is opened is its table's, else
        where it is told to begin, else the group's committed offset, else the topic's start setting."""

    def cycle(self, cycle: RunCycle, meanwhile: Meanwhile) -> CycleEnded:
        """Reads, stores and commits up to the limits of a cycle, or waits for data as long. A table that can't be
        written is tried again in a later cycle; the others go on."""

    def close(self) -> None: ...
