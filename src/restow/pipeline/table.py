"""A lake table as the Spark pipeline sees it: it takes files together with the offsets they reach, or it refuses both.

The table is the authority on the position of every partition that goes into it. `delta.py` has the one there is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from restow.errors import RestowError
from restow.model import TopicPartition


class TableTrouble(RestowError):
    """The table can't be opened, read or written as it is; worth another try later. Whether a commit was taken whose
    answer got lost is the table's to say: ask `positions` before going on."""


class Span(NamedTuple):
    """The offsets of one partition that a cycle stores: from `first` up to, and without, `next`."""

    first: int
    next: int


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A Parquet file that was written below the table's root and is not part of the table yet."""

    path: str
    """Relative to the table's root: what `staging` gave, a slash, and the file's name."""

    size_bytes: int
    rows: int

    stats: str = ""
    """Delta's statistics as JSON. Left out, they say how many rows there are and no more."""


class Table(Protocol):
    """Schemas are what `DataFrame.schema.json()` gives. Any method may raise TableTrouble."""

    uri: str

    def positions(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The next offset of those that it knows: none as long as there is no table."""

    def begin(self, offsets: Mapping[TopicPartition, int], schema: str) -> None:
        """From now on it knows these partitions; one that it knew already stays where it is: ask `positions` again.
        A table that isn't there is made, with the columns of this schema."""

    def staging(self) -> str:
        """A new directory for the files of one cycle, relative to the root, and not made yet. What is in it is
        invisible until it is committed, and swept when it never is. To be asked for in every cycle."""

    def commit(
        self, files: Sequence[WrittenFile], schema: str, spans: Mapping[TopicPartition, Span], staging: str = ""
    ) -> tuple[TopicPartition, ...]:
        """All or nothing: () when it was taken; else the partitions whose offset in the table is not the first of
        their span, since somebody else stored them, and nothing was taken. No files is fine: offsets move on then.
        `staging` names the cycle where no file does."""

    def settle(self, staging: str, spans: Mapping[TopicPartition, Span]) -> bool:
        """Of a cycle that did not end as it should: whether it was taken. If it was not, it never will be from now on,
        and its files are removed. It may be one of this consumer's last process."""

    def tidy(self) -> None:
        """Keeps it fast to read and to commit to, when that is due; to be called between cycles. It returns soon, and
        whatever goes wrong is left for the next time."""

    def close(self) -> None: ...
