"""A measurement as records of the monitor topic: one for most groups, parts of at most 500 kB for large ones.

    {"version": 2, "measurement": "monitor-3f9a11c2/17", "part": 0, "parts": 27,
     "time": "2026-03-01T12:00:00.250Z", "window_s": 30.0, "topics": {…}}

A measurement that fits one record is written as measurement.py has it, version 1, so that older readers go on. They
skip parts, whose version they don't know, and speeds are stale for them: nothing is decided by a part of the truth.
Parts of two monitors may lie between each other on the topic; `Assembly` puts each measurement together by its name,
and a measurement of which a part is missing is never used.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple

import msgspec

from restow.errors import InvalidInput
from restow.model import SortedMapping, TopicPartition
from restow.protocol import measurement as whole
from restow.protocol.measurement import Measurement, Number, PartitionSpeed, Whole, partition_of

VERSION: Final = 2
LARGEST_PART_BYTES: Final = 500_000
LARGEST_ROW_BYTES: Final = 270
"""Of a partition, without its topic's name."""
MOST_OPEN: Final = 4
"""Measurements of which parts are missing, at once: of two monitors, and what each left behind when it ended."""
MOST_PARTS: Final = 10_000
PART: Final = "part"
"""The header that tells where a measurement begins: `0/27` for the first of 27 parts."""


class MeasurementRecord(NamedTuple):
    headers: dict[str, str]
    value: bytes


@dataclass(frozen=True, slots=True)
class MeasurementPart:
    name: str
    """Of the measurement: no other has it."""
    part: int
    parts: int
    content: Measurement
    """Some of its partitions."""


def records_of(
    measurement: Measurement, name: str, headers: dict[str, str], largest_bytes: int = LARGEST_PART_BYTES
) -> tuple[MeasurementRecord, ...]:
    """The records of a measurement, in their order. `headers` are those of measurement.py."""
    chunks = list(_chunks(measurement, largest_bytes))
    if len(chunks) <= 2:  # chunks are made by the largest rows: it may still fit
        value = whole.encode(measurement)
        if len(value) <= largest_bytes:
            return (MeasurementRecord(headers, value),)
    return tuple(
        MeasurementRecord(
            {**headers, "version": str(VERSION), PART: f"{part}/{len(chunks)}"},
            encode(MeasurementPart(name, part, len(chunks), replace(measurement, partitions=chunk))),
        )
        for part, chunk in enumerate(chunks)
    )


def is_last_part(header: str | None) -> bool:
    """Whether a record with this `PART` header is the last one of its measurement. One without it is the whole."""
    if header is None:
        return True
    part, _, parts = header.partition("/")
    return part.isdecimal() and parts.isdecimal() and int(part) + 1 == int(parts)


def encode(part: MeasurementPart) -> bytes:
    head = {"version": VERSION, "measurement": part.name, "part": part.part, "parts": part.parts}
    return whole.encode_after(head, part.content)


class _Document(msgspec.Struct):
    """A record as monitors write it."""

    version: Literal[1, 2]
    time: str
    window_s: Number
    topics: dict[str, dict[str, PartitionSpeed]]
    measurement: str = ""
    part: Whole = MOST_PARTS
    parts: Whole = 0

    def read(self) -> Measurement | MeasurementPart | None:
        """Returns None if it has no name, or can't be that part."""
        rows = {
            partition_of(topic, number): speed
            for topic, numbers in self.topics.items()
            for number, speed in numbers.items()
        }
        content = Measurement(self.time, self.window_s, SortedMapping(rows))
        if self.version == whole.VERSION:
            return content
        if not self.measurement or not self.part < self.parts <= MOST_PARTS:
            return None
        return MeasurementPart(self.measurement, self.part, self.parts, content)


_USUAL: Final = msgspec.json.Decoder(_Document)


def decode(record: bytes) -> Measurement | MeasurementPart:
    """Raises InvalidInput."""
    try:
        found = _USUAL.decode(record).read()
    except (msgspec.MsgspecError, ValueError, RecursionError):
        found = None
    return decode_closely(record) if found is None else found


def decode_closely(record: bytes) -> Measurement | MeasurementPart:
    """A record that the usual decoder does not take. Raises InvalidInput with the place, or reads it: size_bytes may be
    left out, for example."""
    document = whole.parse(record)
    version = document.get("version") if isinstance(document, dict) else None
    if not isinstance(document, dict) or version not in (whole.VERSION, VERSION):
        raise InvalidInput(
            f"a measurement of version {version!r:.40} can't be read; known are {whole.VERSION} and {VERSION}"
        )
    content = whole.measurement_of(document)
    if version == whole.VERSION:
        return content
    name, part, parts = document.get("measurement"), _number(document, "part"), _number(document, "parts")
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"measurement is {name!r:.40}; it must be the measurement's name")
    if not part < parts <= MOST_PARTS:
        raise InvalidInput(f"part {part} of {parts} can't be; parts count from 0, and there are at most {MOST_PARTS:,}")
    return MeasurementPart(name, part, parts, content)


class Assembly:
    """Puts parts together, in the order in which they are read."""

    def __init__(self) -> None:
        self._open: dict[str, dict[int, MeasurementPart]] = {}

    def take(self, part: MeasurementPart) -> Measurement | None:
        """Returns the measurement that this part completes."""
        parts = self._open.setdefault(part.name, {})
        if any(not _belong_together(part, other) for other in parts.values()):
            parts.clear()
        parts[part.part] = part
        if len(parts) < part.parts:
            if len(self._open) > MOST_OPEN:
                del self._open[next(iter(self._open))]
            return None
        del self._open[part.name]
        rows: dict[TopicPartition, PartitionSpeed] = {}
        for number in range(part.parts):
            rows.update(parts[number].content.partitions.items())
        return replace(part.content, partitions=SortedMapping(rows))


def _belong_together(part: MeasurementPart, other: MeasurementPart) -> bool:
    return (part.parts, part.content.time) == (other.parts, other.content.time)


def _chunks(measurement: Measurement, largest_bytes: int) -> Iterator[SortedMapping[TopicPartition, PartitionSpeed]]:
    """Partitions that fit one record each time, however long their numbers are."""
    rows = list(measurement.partitions.items())
    begin, size, last = 0, LARGEST_ROW_BYTES, ""
    for place, ((topic, _), _) in enumerate(rows):
        row = LARGEST_ROW_BYTES + (len(topic) + 6 if topic != last else 0)
        if place > begin and size + row > largest_bytes:
            yield SortedMapping(rows[begin:place])
            begin, size = place, LARGEST_ROW_BYTES
            row = LARGEST_ROW_BYTES + len(topic) + 6
        size, last = size + row, topic
    yield SortedMapping(rows[begin:])


def _number(document: dict[str, Any], name: str) -> int:
    value = document.get(name)
    if type(value) is not int or value < 0:
        raise InvalidInput(f"{name} is {value!r:.40}; it must be a whole number, 0 or more")
    return value
