"""`Measurement`: the monitor's record of every partition's write speed, as JSON readable with any Kafka tool.

    {"version": 1, "time": "2026-03-01T12:00:00.250Z", "window_s": 30.0,
     "topics": {"orders": {"0": {"bytes_per_s": 1250.0, "filtered_bytes_per_s": 1248.5, "records_per_s": 10.2,
                                 "end_offset": 81240, "size_bytes": 9918240},
                           "1": {…, "size_bytes": null, "estimated": true, "stable_offset": 81200}}}}

`estimated` is written only where it is true, `stable_offset` only where it is below `end_offset`. Readers ignore
unknown keys; anything else that is wrong raises InvalidInput. measurement_parts.py decodes it, and splits a measurement
that is too large for one record; channels.py reads it for the controller.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, isfinite
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from restow.errors import InvalidInput
from restow.model import SortedMapping, Speeds, TopicPartition
from restow.protocol.forms import CANONICAL_NUMBER

VERSION: Final = 1
PARTITIONS_KEPT: Final = 500_000
"""Names of partitions that stay parsed: nearly all of a measurement's were in the last one too."""

Number = Annotated[float, Meta(ge=0)]
Whole = Annotated[int, Meta(ge=0)]


class PartitionSpeed(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """As it is in the record: a large group has many in every measurement."""

    bytes_per_s: Number
    filtered_bytes_per_s: Number
    records_per_s: Number
    end_offset: Whole
    size_bytes: Whole | None
    """None if the brokers did not return it."""
    estimated: bool = False
    stable_offset: Whole | None = None
    """The last stable offset, if it is below `end_offset`: what follows belongs to transactions that are open."""

    @property
    def readable_end(self) -> int:
        """The offset up to which consumers can read: they skip what is not committed."""
        return self.end_offset if self.stable_offset is None else self.stable_offset


@dataclass(frozen=True, slots=True)
class Measurement:
    """The write speed of every partition of interest."""

    time: str
    """When the last sample was taken: UTC, ISO 8601."""
    window_s: float
    """The seconds over which the raw speeds were averaged."""
    partitions: SortedMapping[TopicPartition, PartitionSpeed]

    def with_stable_offsets(self, offsets: Mapping[TopicPartition, int]) -> "Measurement":
        """With the last stable offset of each partition where it is below the end offset."""
        stable = {
            partition: msgspec.structs.replace(speed, stable_offset=offsets[partition])
            for partition, speed in self.partitions.items()
            if offsets.get(partition, speed.end_offset) < speed.end_offset
        }
        return replace(self, partitions=SortedMapping({**self.partitions, **stable})) if stable else self

    @property
    def speeds(self) -> Speeds:
        """The filtered speeds, by which the controller packs."""
        return Speeds(self.partitions.with_values([each.filtered_bytes_per_s for each in self.partitions.values()]))


def headers_of(sender: str, group: str) -> dict[str, str]:
    return {"type": Measurement.__name__, "version": str(VERSION), "sender": sender, "group": group}


def encode(measurement: Measurement) -> bytes:
    return encode_after({"version": VERSION}, measurement)


def encode_after(head: Mapping[str, object], measurement: Measurement) -> bytes:
    """The document of a record, with these fields first."""
    _check_finite(measurement)
    topics: dict[str, dict[str, PartitionSpeed]] = {}
    for (topic, number), speed in measurement.partitions.items():
        topics.setdefault(topic, {})[str(number)] = speed
    document = {**head, "time": measurement.time, "window_s": measurement.window_s}
    opening = json.dumps(document, separators=(",", ":"), allow_nan=False)[:-1]
    return b"".join((opening.encode(), b',"topics":', msgspec.json.encode(topics), b"}"))


def _check_finite(measurement: Measurement) -> None:
    """msgspec would write null."""
    speeds = measurement.partitions.values()
    if isfinite(sum(each.bytes_per_s + each.filtered_bytes_per_s + each.records_per_s for each in speeds)):
        return
    for partition, each in measurement.partitions.items():
        if not all(map(isfinite, (each.bytes_per_s, each.filtered_bytes_per_s, each.records_per_s))):
            raise ValueError(f"a speed of {partition} is not finite")


def parse(record: bytes) -> object:
    """Raises InvalidInput if it is not JSON."""
    try:
        return json.loads(record)
    except (ValueError, RecursionError):
        raise InvalidInput(f"a measurement must be JSON, and this is not: {record[:40]!r}") from None


def measurement_of(document: Mapping[str, Any]) -> Measurement:
    """The content of a record of any version. Raises InvalidInput."""
    time, topics = document.get("time"), document.get("topics")
    if not isinstance(time, str):
        raise InvalidInput(f"time is {time!r}; it must be a time in UTC, like 2026-03-01T12:00:00.250Z")
    partitions = {
        partition_of(topic, number): _partition_speed(f"topics.{topic}.{number}", entry)
        for topic, numbers in _entries("topics", topics)
        for number, entry in _entries(f"topics.{topic}", numbers)
    }
    return Measurement(time, _number("window_s", document.get("window_s")), SortedMapping(partitions))


@lru_cache(PARTITIONS_KEPT)
def partition_of(topic: str, number: str) -> TopicPartition:
    """Raises InvalidInput."""
    if topic and "\n" not in topic and CANONICAL_NUMBER.fullmatch(number):
        return TopicPartition(topic, int(number))
    return TopicPartition.parse(f"{topic}-{number}")


def _partition_speed(place: str, entry: object) -> PartitionSpeed:
    fields = dict(_entries(place, entry))
    size, stable = fields.get("size_bytes"), fields.get("stable_offset")
    estimated = fields.get("estimated", False)
    if not isinstance(estimated, bool):
        raise InvalidInput(f"{place}.estimated is {estimated!r}; it must be true or false")
    return PartitionSpeed(
        _number(f"{place}.bytes_per_s", fields.get("bytes_per_s")),
        _number(f"{place}.filtered_bytes_per_s", fields.get("filtered_bytes_per_s")),
        _number(f"{place}.records_per_s", fields.get("records_per_s")),
        _whole(f"{place}.end_offset", fields.get("end_offset")),
        None if size is None else _whole(f"{place}.size_bytes", size),
        estimated,
        None if stable is None else _whole(f"{place}.stable_offset", stable),
    )


def _entries(place: str, value: object) -> list[tuple[str, Any]]:
    if not isinstance(value, dict):
        raise InvalidInput(f"{place} is {value!r:.40}; it must be an object")
    return list(value.items())


def _number(place: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < inf:
        raise InvalidInput(f"{place} is {value!r:.40}; it must be a number, 0 or more")
    return float(value)


def _whole(place: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidInput(f"{place} is {value!r:.40}; it must be a whole number, 0 or more")
    return value
