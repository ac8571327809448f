"""The footer of a Parquet file: how many rows it has, and what it tells of the values in each of its columns.

`statistics.py` has one for every file that a cycle wrote. Java would answer the same in ten calls for each column, each
a message to the JVM and back. A footer is a few kilobytes in Thrift's compact protocol, and this knows as much of that
as footers need.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, NamedTuple

TRAILER_BYTES: Final = 8
"""At the end of a file: the length of the footer before them in four bytes, and the magic word."""
MAGIC: Final = b"PAR1"

# What is looked at of Parquet's structures, by the numbers of their fields.
FILE_ROW_GROUPS: Final = 4
GROUP_COLUMNS, GROUP_ROWS = 1, 3
COLUMN_META: Final = 3
META_PATH, META_STATISTICS = 3, 12
STATISTICS_NULLS, STATISTICS_GREATEST, STATISTICS_LEAST = 3, 5, 6


class Chunk(NamedTuple):
    """One column in one row group."""

    path: tuple[str, ...]
    """More than one name: a part of another column."""
    nulls: int | None
    least: bytes | None
    """As the column's physical type has it."""
    greatest: bytes | None


class RowGroup(NamedTuple):
    rows: int
    chunks: tuple[Chunk, ...]


def footer_bytes(trailer: bytes) -> int:
    """How long the footer before these last bytes of a file is."""
    if len(trailer) != TRAILER_BYTES or not trailer.endswith(MAGIC):
        raise ValueError(f"a Parquet file ends with {MAGIC!r}, and not with {trailer!r}")
    return int.from_bytes(trailer[:4], "little")


def row_groups(footer: bytes) -> tuple[RowGroup, ...]:
    file = Compact(footer).struct()
    return tuple(
        RowGroup(group[GROUP_ROWS], tuple(_chunk(column[COLUMN_META]) for column in group[GROUP_COLUMNS]))
        for group in file[FILE_ROW_GROUPS]
    )


def _chunk(meta: dict[int, Any]) -> Chunk:
    told = meta.get(META_STATISTICS, {})
    path = tuple(name.decode() for name in meta[META_PATH])
    return Chunk(path, told.get(STATISTICS_NULLS), told.get(STATISTICS_LEAST), told.get(STATISTICS_GREATEST))


class Kind(IntEnum):
    """Of a value, as Thrift's compact protocol numbers them. There are maps and doubles too, but in no footer."""

    TRUE = 1
    FALSE = 2
    BYTE = 3
    I16 = 4
    I32 = 5
    I64 = 6
    BINARY = 8
    LIST = 9
    STRUCT = 12


STOP: Final = 0
"""Instead of the head of another field."""
LONG: Final = 15
"""Instead of the size of a list: it follows."""


@dataclass
class Compact:
    """Values, read one after the other. A struct is a dict, by the numbers of its fields."""

    data: bytes
    at: int = 0

    def struct(self) -> dict[int, Any]:
        found: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) != STOP:
            step, kind = head >> 4, head & 15
            number = number + step if step else self._signed()
            # The head of a field that is true or false says which; in a list each has a byte.
            found[number] = kind == Kind.TRUE if kind in (Kind.TRUE, Kind.FALSE) else self._value(kind)
        return found

    def _value(self, kind: int) -> Any:
        match kind:
            case Kind.I16 | Kind.I32 | Kind.I64:
                return self._signed()
            case Kind.BINARY:
                return self._bytes(self._unsigned())
            case Kind.LIST:
                return self._list()
            case Kind.STRUCT:
                return self.struct()
            case Kind.TRUE | Kind.FALSE | Kind.BYTE:
                return self._byte()
            case _:
                raise ValueError(f"there is no value of Thrift's type {kind} in the footer of a Parquet file")

    def _list(self) -> list[Any]:
        head = self._byte()
        size, kind = head >> 4, head & 15
        if size == LONG:
            size = self._unsigned()
        return [self._value(kind) for _ in range(size)]

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _bytes(self, size: int) -> bytes:
        self.at += size
        return self.data[self.at - size : self.at]

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) > 127:
            value |= (byte & 127) << shift
            shift += 7
        return value | byte << shift

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
