"""What run.py asks of a contender."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from restow.settings import Kafka
from restow.study.handover import Progress

TOPIC: Final = "orders"
LOOK_S: Final = 0.1
"""How often a group is looked at."""


@dataclass(frozen=True, slots=True)
class Case:
    """The load of a contender."""

    partitions: int
    records_per_s: float
    """Of each partition."""
    warm_up_s: float = 0.0
    """How long a group works before its first change."""


@dataclass(frozen=True, slots=True)
class Setting:
    kafka: Kafka
    case: Case
    directory: Path
    """An empty one."""


class Contender(Protocol):
    """A group of two members."""

    def new_progress(self) -> list[Progress]:
        """The progress since the last call. Raises RestowError if a process has ended unexpectedly."""

    def join(self) -> None:
        """Makes the group grow to three members."""

    def leave(self) -> None:
        """Makes it shrink to two."""

    def kill(self) -> None:
        """Kills one of two members, as the kernel does when memory is short."""

    def mend(self) -> None:
        """After a kill: returns when the group has a second member again, or gives it one. Raises RestowError."""

    @property
    def owners_after_kill(self) -> int | None:
        """How many members read then; None if that may be one or two."""

    @property
    def owners_after_mend(self) -> int | None:
        """How many members read when it is mended; None if one of two may be without partitions."""

    def copies(self) -> Mapping[tuple[int, int], int]:
        """How often the record at each partition's offset was processed or stored."""
