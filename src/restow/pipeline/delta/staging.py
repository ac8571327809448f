"""Staging: the directories that cycles write files to below a table's root, and the ids of their transactions.

A cycle has a *stamp*: the milliseconds at which it began, increased by one where two would be equal. The stamp is part
of the directory's name and of the commit, so that the table can refuse a cycle whose files vacuum removed.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from restow.model import TopicPartition

ROOT: Final = "data"
"""Without a leading underscore or dot: Delta's VACUUM skips such directories, even for removed files."""

DIRECTORY: Final = re.compile(
    rf"(?P<path>{ROOT}/(?P<group>[^/]+)/(?P<member>[^/]+)/(?P<incarnation>[0-9]+)-(?P<stamp>[0-9]+))/.*"
)

COMPACTOR: Final = ("restow", "compactor")
"""Group and member of compacted files, whichever consumer started the compaction. No consumer has this name, not even
in a group called restow."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A Parquet file below the table's root that is not part of the table yet."""

    path: str
    """Relative to the table's root: the staging directory, a slash, and the file's name."""

    size_bytes: int
    rows: int

    stats: str = ""
    """Delta's statistics as JSON; if empty, the commit states the number of rows only."""

    partition: tuple[tuple[str, str | None], ...] = ()
    """The values of the table's partition columns, which the file has not, as texts."""


@dataclass(frozen=True, slots=True)
class Writer:
    """One process of one consumer."""

    group: str
    consumer: int
    incarnation: int
    member: str = ""
    """What it is called in its directories; empty for a consumer."""

    def position_id(self, partition: TopicPartition) -> str:
        """The transaction id whose version is the partition's next offset, whichever consumer stored it."""
        return f"{self.group}/{partition.topic}/{partition.partition}"

    def claim_id(self, partition: TopicPartition) -> str:
        """The transaction id whose version is the partition's last claim (claims.py), in the table and in its
        dead-letter table."""
        return f"{self.position_id(partition)}/claim"

    @property
    def claims_id(self) -> str:
        """The transaction id whose version is the table's last claim of any partition; without it, none was
        claimed."""
        return f"{self.group}/claims"

    @property
    def cycle_id(self) -> str:
        """The transaction id whose version is the stamp of this consumer's last cycle, or up to which vacuum removed
        its files."""
        return cycle_id(self.group, self._member)

    def directory(self, stamp: int) -> str:
        return cycle_directory(self.group, self._member, self.incarnation, stamp)

    @property
    def _member(self) -> str:
        return self.member or f"consumer-{self.consumer}"


@dataclass(frozen=True, slots=True, order=True)
class StagedCycle:
    """A cycle, as the name of its staging directory identifies it."""

    path: str
    cycle_id: str
    stamp: int


def cycle_id(group: str, member: str) -> str:
    return f"{group}/{member}"


def cycle_directory(group: str, member: str, incarnation: int, stamp: int) -> str:
    return f"{ROOT}/{group}/{member}/{incarnation}-{stamp}"


def staged_cycle(file: str) -> StagedCycle | None:
    """The cycle that wrote the file; None if restow did not write it."""
    parts = DIRECTORY.fullmatch(file)
    if not parts:
        return None
    return StagedCycle(parts["path"], cycle_id(parts["group"], parts["member"]), int(parts["stamp"]))


def writing_groups(table: Path) -> set[str]:
    """The groups with staging directories below a table's root on this machine."""
    return {directory.name for directory in (table / ROOT).glob("*") if any(directory.glob("consumer-*"))}
