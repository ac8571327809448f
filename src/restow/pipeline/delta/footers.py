"""Reads the footer of a Parquet file: rows, and the null count, minimum and maximum of every column chunk.

statistics.py calls it for every file that a cycle wrote. Asking Java instead takes ten calls to the JVM for each
column. A footer is a few kilobytes in Thrift's compact protocol, of which this implements as much as footers need.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, NamedTuple

TRAILER_BYTES: Final = 8
"""At the end of a file: the length of the footer in four bytes, and the magic word."""
MAGIC: Final = b"PAR1"

# Field numbers of Parquet's structures.
FILE_ROW_GROUPS: Final = 4
GROUP_COLUMNS, GROUP_ROWS = 1, 3
COLUMN_META: Final = 3
META_PATH, META_STATISTICS = 3, 12
STATISTICS_NULLS, STATISTICS_MAXIMUM, STATISTICS_MINIMUM = 3, 5, 6


class Chunk(NamedTuple):
    """One column in one row group."""

    path: tuple[str, ...]
    """More than one name for a field of a struct, an array or a map."""
    nulls: int | None
    minimum: bytes | None
    """In the encoding of the column's physical type."""
    maximum: bytes | None


class RowGroup(NamedTuple):
    rows: int
    chunks: tuple[Chunk, ...]


def footer_bytes(trailer: bytes) -> int:
    """The length of the footer, from the last TRAILER_BYTES of a file. Raises ValueError."""
    if len(trailer) != TRAILER_BYTES or not trailer.endswith(MAGIC):
        raise ValueError(f"a Parquet file ends with {MAGIC!r}, not with {trailer!r}")
    return int.from_bytes(trailer[:4], "little")


def row_groups(footer: bytes) -> tuple[RowGroup, ...]:
    file = CompactReader(footer).struct()
    return tuple(
        RowGroup(group[GROUP_ROWS], tuple(_chunk(column[COLUMN_META]) for column in group[GROUP_COLUMNS]))
        for group in file[FILE_ROW_GROUPS]
    )


def _chunk(meta: dict[int, Any]) -> Chunk:
    stats = meta.get(META_STATISTICS, {})
    path = tuple(name.decode() for name in meta[META_PATH])
    return Chunk(path, stats.get(STATISTICS_NULLS), stats.get(STATISTICS_MINIMUM), stats.get(STATISTICS_MAXIMUM))


class Kind(IntEnum):
    """Types of Thrift's compact protocol. Maps and doubles occur in no footer."""

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
"""Ends a struct."""
LONG: Final = 15
"""In place of a list's size: the size follows as a varint."""


@dataclass
class CompactReader:
    """Reads values in sequence. A struct becomes a dict by field number."""

    data: bytes
    at: int = 0

    def struct(self) -> dict[int, Any]:
        found: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) != STOP:
            step, kind = head >> 4, head & 15
            number = number + step if step else self._signed()
            # A boolean field has its value in the header; booleans in a list have a byte each.
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
