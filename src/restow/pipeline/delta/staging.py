"""Names: where a consumer's files lie below a table's root, and under which ids it speaks to the table.

A cycle has a *stamp*, the milliseconds at which it began, grown by one where two would be alike. It is in the name of
the cycle's directory and in its commit, so that a table can tell a cycle whose files were swept from one that is late.
"""

import re
from dataclasses import dataclass
from typing import Final

from restow.model import TopicPartition

ROOT: Final = "data"
"""No underscore or dot before it: Delta's vacuum passes over such directories, also when their files are removed."""

DIRECTORY: Final = re.compile(
    rf"(?P<path>{ROOT}/(?P<group>[^/]+)/(?P<member>[^/]+)/(?P<incarnation>[0-9]+)-(?P<stamp>[0-9]+))/.*"
)

COMPACTOR: Final = ("restow", "compactor")
"""Who writes compacted files, whichever consumer has it done; a member of a group that is called restow, perhaps, but
no consumer of it."""


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes: one start of one consumer of a group."""

    group: str
    consumer: int
    incarnation: int

    def position_id(self, partition: TopicPartition) -> str:
        """Its version in the table is the partition's next offset, whoever stored it."""
        return f"{self.group}/{partition.topic}/{partition.partition}"

    @property
    def cycle_id(self) -> str:
        """Its version in the table is the stamp of this consumer's last cycle, or that up to which files were swept."""
        return cycle_id(self.group, self._member)

    def directory(self, stamp: int) -> str:
        return cycle_directory(self.group, self._member, self.incarnation, stamp)

    @property
    def _member(self) -> str:
        return f"consumer-{self.consumer}"


@dataclass(frozen=True, slots=True, order=True)
class Staged:
    """The directory of a cycle, as its name tells."""

    path: str
    cycle_id: str
    stamp: int


def cycle_id(group: str, member: str) -> str:
    return f"{group}/{member}"


def cycle_directory(group: str, member: str, incarnation: int, stamp: int) -> str:
    return f"{ROOT}/{group}/{member}/{incarnation}-{stamp}"


def staged(file: str) -> Staged | None:
    """The cycle that a file was written by; None: not restow's."""
    parts = DIRECTORY.fullmatch(file)
    if not parts:
        return None
    return Staged(parts["path"], cycle_id(parts["group"], parts["member"]), int(parts["stamp"]))
