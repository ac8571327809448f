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
    rf"(?P<path>{ROOT}/(?P<group>[^/]+)/consumer-(?P<consumer>[0-9]+)/(?P<incarnation>[0-9]+)-(?P<stamp>[0-9]+))/.*"
)


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
        return cycle_id(self.group, self.consumer)

    def directory(self, stamp: int) -> str:
        return f"{ROOT}/{self.group}/consumer-{self.consumer}/{self.incarnation}-{stamp}"


@dataclass(frozen=True, slots=True, order=True)
class Staged:
    """The directory of a cycle, as its name tells."""

    path: str
    cycle_id: str
    stamp: int


def cycle_id(group: str, consumer: int) -> str:
    return f"{group}/consumer-{consumer}"


def staged(file: str) -> Staged | None:
    """The cycle that a file was written by; None: another writer's, or a compacted one."""
    parts = DIRECTORY.fullmatch(file)
    if not parts:
        return None
    return Staged(parts["path"], cycle_id(parts["group"], int(parts["consumer"])), int(parts["stamp"]))
