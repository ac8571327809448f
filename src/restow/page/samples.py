"""What is kept of a picture for the last day: figures of the group, and four numbers of each partition and consumer.

The numbers of all partitions are columns of one sample, so that a day of thousands of partitions fits into some
megabytes: 16 bytes each.
"""

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from restow.controller.transitions import Phase
from restow.model import ConsumerId, TopicPartition
from restow.page.times import utc_s
from restow.picture.picture import ConsumerStatus, Decision, Lag, PartitionStatus, Picture
from restow.protocol.measurement import Measurement

UNKNOWN: Final = math.nan
K = TypeVar("K", TopicPartition, ConsumerId)


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """Of a time in which no controller ran, only the load is known."""

    consumers: int | None
    """All consumers except lost ones."""
    ready: int | None
    load_bytes_per_s: float | None
    """What producers write to all partitions; None before the first measurement."""
    capacity_bytes_per_s: float | None
    lag_records: int | None
    lag_seconds_max: float | None

    def merged(self, later: "GroupFigures") -> "GroupFigures":
        """The figures of a longer time: the later ones, and the largest lag."""
        return GroupFigures(
            later.consumers,
            later.ready,
            later.load_bytes_per_s,
            later.capacity_bytes_per_s,
            _larger(self.lag_records, later.lag_records),
            _larger(self.lag_seconds_max, later.lag_seconds_max),
        )


@dataclass(frozen=True, slots=True)
class Columns(Generic[K]):
    """Four numbers for each key. Columns with the same keys share `rows`."""

    rows: Mapping[K, int]
    speeds: "array[float]"
    lag_records: "array[float]"
    lag_seconds: "array[float]"
    places: "array[float]"
    """Of a partition its consumer, of a consumer how many partitions it holds."""

    def merged(self, later: "Columns[K]") -> "Columns[K]":
        """The later ones, with the largest lags, if both have the same rows."""
        if self.rows != later.rows:
            return later
        return Columns(
            self.rows,
            later.speeds,
            array("f", map(_larger_number, self.lag_records, later.lag_records)),
            array("f", map(_larger_number, self.lag_seconds, later.lag_seconds)),
            later.places,
        )


@dataclass(frozen=True, slots=True)
class Sample:
    time_s: float
    group: GroupFigures
    partitions: Columns[TopicPartition]
    consumers: Columns[ConsumerId]
    decisions: tuple[Decision, ...]

    @property
    def size(self) -> int:
        return len(self.partitions.rows) + len(self.consumers.rows)


class Sampler:
    """Makes samples, which share the names of partitions as long as those stay the same."""

    def __init__(self) -> None:
        self._partitions: Mapping[TopicPartition, int] = {}
        self._consumers: Mapping[ConsumerId, int] = {}

    def sampled(self, picture: Picture) -> Sample:
        if self._partitions.keys() != picture.partitions.keys():
            self._partitions = {partition: row for row, partition in enumerate(picture.partitions)}
        if self._consumers.keys() != picture.consumers.keys():
            self._consumers = {consumer: row for row, consumer in enumerate(picture.consumers)}
        partitions, consumers = list(picture.partitions.values()), list(picture.consumers.values())
        return Sample(
            utc_s(picture.overview.time),
            _figures(consumers, partitions),
            _columns(self._partitions, partitions, [_number(each.bytes_per_s) for each in partitions], "consumer"),
            _columns(self._consumers, consumers, [each.load_bytes_per_s for each in consumers], "partitions"),
            picture.overview.decisions,
        )

    def measured(self, measurement: Measurement) -> Sample:
        """Of a time without a picture: the speeds are known, and nothing else."""
        if self._partitions.keys() != measurement.partitions.keys():
            self._partitions = {partition: row for row, partition in enumerate(measurement.partitions)}
        speeds = array("f", [each.bytes_per_s for each in measurement.partitions.values()])
        unknown = array("f", [UNKNOWN]) * len(speeds)
        return Sample(
            utc_s(measurement.time),
            GroupFigures(None, None, math.fsum(speeds), None, None, None),
            Columns(self._partitions, speeds, unknown, unknown, unknown),
            Columns({}, array("f"), array("f"), array("f"), array("f")),
            (),
        )


def _figures(consumers: Sequence[ConsumerStatus], partitions: Sequence[PartitionStatus]) -> GroupFigures:
    here = [each for each in consumers if each.phase is not Phase.LOST]
    speeds = [each.bytes_per_s for each in partitions if each.bytes_per_s is not None]
    lags = [each.lag for each in partitions if each.lag is not None]
    return GroupFigures(
        len(here),
        sum(each.phase is Phase.READY for each in here),
        math.fsum(speeds) if speeds else None,
        math.fsum(each.capacity_bytes_per_s for each in here),
        sum(lag.records for lag in lags) if lags else None,
        max((lag.seconds for lag in lags if lag.seconds is not None), default=None),
    )


def _columns(rows: Mapping[Any, int], values: Sequence[Any], speeds: Sequence[float], place: str) -> Columns[Any]:
    lags: list[Lag | None] = [each.lag for each in values]
    return Columns(
        rows,
        array("f", speeds),
        array("f", [UNKNOWN if lag is None else lag.records for lag in lags]),
        array("f", [UNKNOWN if lag is None else _number(lag.seconds) for lag in lags]),
        array("f", [_number(getattr(each, place)) for each in values]),
    )


def _number(value: float | None) -> float:
    return UNKNOWN if value is None else value


def _larger(one: Any, other: Any) -> Any:
    return max((each for each in (one, other) if each is not None), default=None)


def _larger_number(one: float, other: float) -> float:
    """The larger one; of a number and UNKNOWN the number."""
    return other if math.isnan(one) or other > one else one
