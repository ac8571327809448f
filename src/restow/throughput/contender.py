"""What measuring.py asks of a contender."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from restow.settings import Kafka
from restow.study.throughput import Case, Commit


@dataclass(frozen=True, slots=True)
class Setting:
    """What all contenders of a case get."""

    kafka: Kafka
    case: Case
    cores: tuple[int, ...]
    """The cores to run on."""
    directory: Path
    """An empty one, for tables and files."""

    @property
    def tables(self) -> Mapping[str, Path]:
        return {self.case.table_of(topic): self.directory / self.case.table_of(topic) for topic in self.case.by_topic}


class Unavailable(Exception):
    """A peer is not available on this machine. The text is the reason."""


class Contender(Protocol):
    begun_s: float
    """When its process was started."""

    @property
    def process(self) -> int:
        """The process above all of its processes."""

    def new_commits(self) -> list[Commit]:
        """The commits since the last call. Raises RestowError if the contender has ended."""

    def steps_s(self) -> Mapping[str, float]:
        """Seconds that it has spent on each step of its work until now. Empty if it does not report them."""

    def stop(self) -> float | None:
        """Has it give up all partitions, at full load, and returns how many seconds that took. None for a contender
        without such a command."""
