"""The types of the picture. Times are UTC, ISO 8601; speeds are bytes/s.

A field that can't be known yet is None, never a guess: the lag of a partition before its position is known, the cycle
times of a consumer that has not reported.
"""

from dataclasses import dataclass, field
from typing import Final

from restow.controller.transitions import Phase, Stage
from restow.model import ConsumerId, SortedMapping, TopicPartition

OPTIONAL: Final = {"left_out_by_default": True}
"""Marks a field that is not written while it has its default: a group may have 50,000 partitions."""


@dataclass(frozen=True, slots=True)
class RaisedFlag:
    """A condition that operators should know of."""

    words: str
    since: str


@dataclass(frozen=True, slots=True)
class Decision:
    """A plan that changed the assignment."""

    time: str
    cause: str
    """Why the controller planned."""
    summary: str
    """Consumers before and after, and the moves."""
    reasons: tuple[str, ...] = ()
    """The packer's reason for each move, creation and deletion; the first ones of a long list."""
    more_reasons: int = field(default=0, metadata=OPTIONAL)
    """How many reasons were left out."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The settings by which load is judged."""

    capacity_bytes_per_s: float
    """What one consumer sustains."""
    fill_to: float
    """A plan fills consumers to this part of their capacity."""
    trigger: float
    """Above this part of its capacity a consumer is overloaded."""
    least_consumers: int
    most_consumers: int | None


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a partition, or the worst partition of a consumer, is behind the last stable offset."""

    records: int
    """Records that are not in the table yet."""
    seconds: float | None
    """The age of the oldest of them; None if it is not known."""
    by_timestamp: bool = field(default=False, metadata=OPTIONAL)
    """Whether `seconds` comes from the record's own timestamp, because the record is older than the history of end
    offsets."""


@dataclass(frozen=True, slots=True)
class ConsumerStatus:
    phase: Phase
    since: str
    """When it entered the phase, or when this controller first saw it in it."""
    partitions: int
    capacity_bytes_per_s: float
    load_bytes_per_s: float
    """The speeds of its partitions, and their backlogs spread over the catch-up time."""
    lag: Lag | None = field(default=None, metadata=OPTIONAL)
    """All records behind, and the seconds of the partition that is furthest behind."""
    records_per_s: float | None = field(default=None, metadata=OPTIONAL)
    bytes_per_s: float | None = field(default=None, metadata=OPTIONAL)
    """Throughput since its last report; None before its first."""
    saturated: bool = field(default=False, metadata=OPTIONAL)
    cycle_s_mean: float | None = field(default=None, metadata=OPTIONAL)
    cycle_s_max: float | None = field(default=None, metadata=OPTIONAL)
    restarts: int = field(default=0, metadata=OPTIONAL)
    """Restarts that this controller has seen."""
    settings: str | None = None
    """The fingerprint of the settings that it runs with."""
    outdated: bool = field(default=False, metadata=OPTIONAL)
    """Whether those are older than the settings that consumers start with now."""
    silent_s: float = 0.0
    """Seconds since its last message."""


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    consumer: ConsumerId | None
    """The consumer that reads it; None if no consumer does."""
    since: str | None
    """When that consumer started it, or lost it; None if this was before the controller began."""
    bytes_per_s: float | None
    """Its write speed; None if it was never measured."""
    lag: Lag | None = field(default=None, metadata=OPTIONAL)
    catch_up_s: float | None = field(default=None, metadata=OPTIONAL)
    """Seconds until the lag is 0 at the present throughput; None if the lag does not shrink, or is 0."""
    retention_s: float | None = field(default=None, metadata=OPTIONAL)
    """Seconds until the oldest unread record is deleted; None if it never is, or the lag is 0."""
    moving_to: ConsumerId | None = field(default=None, metadata=OPTIONAL)
    """The consumer that the present plan gives it to, if another than the one that reads it."""
    refused_for_s: float | None = field(default=None, metadata=OPTIONAL)
    """Seconds until a consumer is asked to start it again, after a refusal."""


@dataclass(frozen=True, slots=True)
class Overview:
    """The group on one line, its flags and its decisions."""

    group: str
    controller: str
    """The controller's host and process."""
    epoch: int
    time: str
    """When the picture was drawn."""
    stage: Stage
    since: str
    """When the controller entered the stage."""
    limits: Limits
    flags: SortedMapping[str, RaisedFlag] = field(default_factory=SortedMapping)
    waiting_for: tuple[str, ...] = ()
    """What the next change depends on."""
    speeds_age_s: float | None = None
    """The age of the newest measurement; None before the first."""
    decisions: tuple[Decision, ...] = ()
    """The last ones, newest first."""


@dataclass(frozen=True, slots=True)
class Picture:
    overview: Overview
    consumers: SortedMapping[ConsumerId, ConsumerStatus] = field(default_factory=SortedMapping)
    partitions: SortedMapping[TopicPartition, PartitionStatus] = field(default_factory=SortedMapping)
