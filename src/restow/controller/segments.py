"""The files of the controller's event log: a directory of numbered segments, compressed with gzip.

    events-00000041-20261117T020000Z.jsonl.gz      the number orders them; the time is that of the first event, in UTC
    events-00000042-20261117T030000Z.jsonl.gz

journal.py writes them; `restow replay` and the demonstration read them, also while they are written. `zcat` shows one.
A crash cuts a segment off at any byte: the lines before that are read, and a line that is cut off is not.
"""

import re
import zlib
from calendar import timegm
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import gmtime, strftime, strptime
from typing import Final

from restow.errors import InvalidInput

NAME: Final = re.compile(r"events-(?P<number>[0-9]{8,})-(?P<time>[0-9]{8}T[0-9]{6}Z)\.jsonl\.gz")
TIME: Final = "%Y%m%dT%H%M%SZ"
GZIP: Final = zlib.MAX_WBITS | 16
GZIP_BEGINS: Final = b"\x1f\x8b"
CHUNK_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    number: int
    begun_s: int
    """The wall clock at its first event, in seconds since 1970."""
    path: Path


def segment_name(number: int, begun_s: float) -> str:
    return f"events-{number:08}-{strftime(TIME, gmtime(begun_s))}.jsonl.gz"


def segments_in(directory: Path) -> tuple[Segment, ...]:
    """In the order in which they were written. Other files are passed over. Raises OSError."""
    found = map(segment_at, directory.iterdir())
    return tuple(sorted(segment for segment in found if segment is not None))


def segment_at(path: Path) -> Segment | None:
    """Returns None if the file has another name than a segment."""
    name = NAME.fullmatch(path.name)
    try:
        return Segment(int(name["number"]), timegm(strptime(name["time"], TIME)), path) if name else None
    except ValueError:  # no time
        return None


class SegmentLines:
    """The lines of a segment, or of a log of an older version, which is plain text."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_bytes = 0
        self._unzip: zlib._Decompress | None = None
        self._rest = b""
        self.is_damaged = False
        """Whether something that is not compressed text follows the lines so far."""

    @property
    def is_cut_off(self) -> bool:
        """Whether something follows the last whole line."""
        return self.is_damaged or bool(self._rest)

    @property
    def rest(self) -> str:
        """The line that is cut off. Raises InvalidInput if this is no text."""
        return _text(self._rest)

    def read_new(self) -> Iterator[str]:
        """The whole lines that were written since the last call. Raises OSError, and InvalidInput if this is no
        text."""
        with self._path.open("rb") as file:
            file.seek(self._read_bytes)
            while not self.is_damaged and (chunk := file.read(CHUNK_BYTES)):
                if self._read_bytes == 0 and chunk.startswith(GZIP_BEGINS):
                    self._unzip = zlib.decompressobj(GZIP)
                self._read_bytes += len(chunk)
                *lines, self._rest = (self._rest + self._plain(chunk)).split(b"\n")
                yield from map(_text, lines)

    def _plain(self, chunk: bytes) -> bytes:
        if self._unzip is None:
            return chunk
        before = self._unzip.copy()
        try:
            plain = self._unzip.decompress(chunk)
            self.is_damaged = bool(self._unzip.unused_data)
        except zlib.error:
            self.is_damaged = True
            return b"".join(_until_error(before, chunk))
        return plain


def _until_error(unzip: "zlib._Decompress", chunk: bytes) -> Iterator[bytes]:
    """zlib returns nothing of a chunk that has an error in it, so it gets the bytes before the error one by one."""
    for index in range(len(chunk)):
        try:
            yield unzip.decompress(chunk[index : index + 1])
        except zlib.error:
            return


def _text(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise InvalidInput("this is not UTF-8 text; an event log is lines of JSON") from None
