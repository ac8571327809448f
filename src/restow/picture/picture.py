"""The types of the picture. Times are UTC, ISO 8601; speeds are bytes/s.

A field that can't be known yet is None, never a guess: the lag of a partition before its position is known, the cycle
times of a consumer that has not reported.
"""

from dataclasses import dataclass, field
from typing import Final, Literal

from restow.controller.learned import LearnedCapacity, TopicCost
from restow.controller.transitions import Phase, Stage
from restow.model import ConsumerId, SortedMapping, TopicPartition

OPTIONAL: Final = {"left_out_by_default": True}
"""Marks a field that is not written while it has its default: a group may have 50,000 partitions."""

AgeSource = Literal["end offsets", "record timestamp"]


@dataclass(frozen=True, slots=True)
class RaisedFlag:
    """A condition that operators should know of."""

    words: str
    """What is wrong, and what the controller does about it."""
    since: str
    """When it was raised."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A plan that changed the assignment."""

    time: str
    """When it was made."""
    cause: str
    """Why the controller planned."""
    summary: str
    """Consumers before and after, and the moves."""
    reasons: tuple[str, ...] = ()
    """The packer's reason for each move, creation and deletion; the first ones of a long list."""
    more_reasons: int = field(default=0, metadata=OPTIONAL)
    """How many reasons were left out."""
    recommended: bool = field(default=False, metadata=OPTIONAL)
    """Whether it was only recommended, and not carried out."""


@dataclass(frozen=True, slots=True)
class Paused:
    """The group is paused: nothing is scaled, moved for load or restarted with new settings."""

    until: str | None = None
    """When it ends by itself; null: not before `restow resume`."""
    by: str = ""
    """Who paused it."""
    at: str | None = None
    """When."""
    reason: str = ""
    """Why."""


@dataclass(frozen=True, slots=True)
class Recommending:
    """Decisions are recommended, and not carried out."""

    by: str = ""
    """Who asked for it."""
    at: str | None = None
    """When."""
    reason: str = ""
    """Why."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A partition that one consumer reads until a time."""

    consumer: ConsumerId
    """The consumer."""
    until: str
    """When the pin ends by itself."""
    by: str = ""
    """Who pinned it."""
    at: str | None = None
    """When."""
    reason: str = ""
    """Why."""


@dataclass(frozen=True, slots=True)
class ServiceAnswer:
    """What became of a record of the service topic."""

    offset: int
    """The record's."""
    taken: bool
    """False: refused."""
    words: str
    """For the person who wrote it."""


@dataclass(frozen=True, slots=True)
class LeftOutRecords:
    """Bad records of a topic that are not in its table."""

    rejected: int = 0
    """How many are in its dead-letter table. Those that were retried since count too."""
    skipped: int = 0
    """How many were skipped."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The settings by which load is judged."""

    capacity_bytes_per_s: float
    """What a new consumer is assumed to sustain: as the settings say, or the median of what was learned."""
    fill_to: float
    """A plan fills consumers to this part of their capacity."""
    trigger: float
    """Above this part of its capacity a consumer is overloaded, and gives up partitions."""
    evict_to: float
    """It gives them up until it is at or below this part."""
    drain_to: float
    """A consumer is closed if the others stay at or below this part with its partitions."""
    least_consumers: int
    """The group never has fewer consumers."""
    most_consumers: int | None
    """The group never has more; null if only the load limits it."""
    worth: float = 1.0
    """How much load may move to save one consumer, in consumer capacities."""
    catch_up_s: float = 300.0
    """Seconds in which a backlog should be worked off: a partition's lag divided by this counts as load."""
    look_every_s: float = 60.0
    """Seconds after which the controller plans again if nothing else made it."""
    close_after_s: float = 0.0
    """A consumer is closed only if the others could have carried its partitions for so many seconds."""
    capacity_is_learned: bool = field(default=False, metadata=OPTIONAL)
    """Whether the capacity of each consumer is learned from its cycles; otherwise the settings fix it."""
    most_without_gain: int | None = field(default=None, metadata=OPTIONAL)
    """The group gets no more consumers than this for now: the last scale-up did not raise the throughput."""
    moves_by_number: float = field(default=0.75, metadata=OPTIONAL)
    """How much of what a move costs is the same for every partition; the rest is its speed."""
    spares: int = field(default=0, metadata=OPTIONAL)
    """How many consumers without partitions the group keeps."""


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a partition, or the worst partition of a consumer, is behind the last stable offset."""

    records: int
    """Records that are not in the table yet."""
    seconds: float | None
    """The age of the oldest of them; null if it is not known."""
    source: AgeSource = field(default="end offsets", metadata=OPTIONAL)
    """How the age is known. `end offsets`: from the monitor's measurements of the last five minutes, to a second.
    `record timestamp`: the record is older, and this is its own timestamp, which producers may set."""


@dataclass(frozen=True, slots=True)
class ConsumerStatus:
    """One consumer."""

    phase: Phase
    """The controller's view of it; controller.md has the phases."""
    since: str
    """When it entered the phase, or when this controller first saw it in it."""
    partitions: int
    """How many it holds."""
    capacity_bytes_per_s: float
    """What it sustains, in bytes of mean cost."""
    load_bytes_per_s: float
    """The speeds of its partitions, weighted by the costs of their topics, and their backlogs spread over the catch-up
    time."""
    lag: Lag | None = field(default=None, metadata=OPTIONAL)
    """All records behind, and the seconds of the partition that is furthest behind."""
    records_per_s: float | None = field(default=None, metadata=OPTIONAL)
    """Throughput since its report before the last; null before its first."""
    bytes_per_s: float | None = field(default=None, metadata=OPTIONAL)
    """The same in bytes of Kafka's log."""
    saturated: bool = field(default=False, metadata=OPTIONAL)
    """Whether it worked without idling."""
    cycle_s_mean: float | None = field(default=None, metadata=OPTIONAL)
    """Mean duration of its cycles, from reading to stored."""
    cycle_s_max: float | None = field(default=None, metadata=OPTIONAL)
    """Duration of the slowest."""
    restarts: int = field(default=0, metadata=OPTIONAL)
    """Restarts that this controller has seen."""
    incarnation: int | None = field(default=None, metadata=OPTIONAL)
    """The number of its process, which grows with each start; null before its first message."""
    settings: str | None = None
    """The fingerprint of the settings that it runs with."""
    outdated: bool = field(default=False, metadata=OPTIONAL)
    """Whether those are older than the settings that consumers start with now."""
    silent_s: float = 0.0
    """Seconds since its last message."""
    learned: LearnedCapacity | None = field(default=None, metadata=OPTIONAL)
    """What its cycles have taught; null if its capacity is fixed, or nothing is learned of it yet."""
    spare: bool = field(default=False, metadata=OPTIONAL)
    """Whether it is a spare: warm and without partitions, as `spares` wants."""


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """One partition of a consumed topic."""

    consumer: ConsumerId | None
    """The consumer that reads it; null if no consumer does."""
    since: str | None
    """When that consumer started it, or lost it; null if this was before the controller began."""
    bytes_per_s: float | None
    """Its write speed; null if it was never measured."""
    lag: Lag | None = field(default=None, metadata=OPTIONAL)
    """How far it is behind; null if its position is not known."""
    catch_up_s: float | None = field(default=None, metadata=OPTIONAL)
    """Seconds until the lag is 0 at the present throughput; null if the lag does not shrink, or is 0."""
    moving_to: ConsumerId | None = field(default=None, metadata=OPTIONAL)
    """The consumer that the present plan gives it to, if another consumer reads it now."""
    refused_for_s: float | None = field(default=None, metadata=OPTIONAL)
    """Seconds until a consumer is asked to start it again, after a refusal."""
    waits_for: ConsumerId | None = field(default=None, metadata=OPTIONAL)
    """The consumer that read it and restarts: it starts there again."""
    stuck: bool = field(default=False, metadata=OPTIONAL)
    """Whether its backlog does not shrink although its consumer has room."""
    retention_margin_s: float | None = field(default=None, metadata=OPTIONAL)
    """Seconds until Kafka may delete the oldest unread record; null if nothing is unread, if the topic keeps its
    records for ever or is only compacted, or if the record's age or the topic's configuration is not known."""


@dataclass(frozen=True, slots=True)
class Overview:
    """The group on one line, its flags and its decisions."""

    group: str
    """The group's name."""
    controller: str
    """The controller's host and process."""
    epoch: int
    """The epoch of the controller."""
    time: str
    """When the picture was drawn."""
    stage: Stage
    """What the controller is doing; controller.md has the stages."""
    since: str
    """When the controller entered the stage."""
    limits: Limits
    """The settings by which load is judged."""
    flags: SortedMapping[str, RaisedFlag] = field(default_factory=SortedMapping)
    """Conditions that operators should know of, by name."""
    waiting_for: tuple[str, ...] = ()
    """What the next change depends on."""
    speeds_age_s: float | None = None
    """The age of the newest measurement; null before the first."""
    planned_with: str | None = field(default=None, metadata=OPTIONAL)
    """The time of the measurement that the last plan was made with, even if the plan changed nothing."""
    creation_paused_s: float = field(default=0.0, metadata=OPTIONAL)
    """Seconds until a consumer may be created again, after one did not become ready."""
    decisions: tuple[Decision, ...] = ()
    """The last ones, newest first."""
    paused: Paused | None = field(default=None, metadata=OPTIONAL)
    """The pause of the group; null if it is not paused."""
    recommend_only: Recommending | None = field(default=None, metadata=OPTIONAL)
    """Whether decisions are only recommended; null if they are carried out."""
    pins: SortedMapping[TopicPartition, Pin] = field(default_factory=SortedMapping, metadata=OPTIONAL)
    """The pinned partitions; of many the first ones."""
    more_pins: int = field(default=0, metadata=OPTIONAL)
    """How many pins were left out."""
    service_offset: int | None = field(default=None, metadata=OPTIONAL)
    """The last record of the service topic that this controller has applied; null before the first."""
    costs: SortedMapping[str, TopicCost] = field(default_factory=SortedMapping, metadata=OPTIONAL)
    """How much work a byte of each topic is, relative to their mean, as far as it is learned."""
    fixed_costs: SortedMapping[str, float] = field(default_factory=SortedMapping, metadata=OPTIONAL)
    """The same where the definition of a topic fixes it."""
    answers: tuple[ServiceAnswer, ...] = field(default=(), metadata=OPTIONAL)
    """What became of the last records of the service topic, in their order: 20 at most."""
    left_out: SortedMapping[str, LeftOutRecords] = field(default_factory=SortedMapping, metadata=OPTIONAL)
    """The bad records of each topic that consumers have left out of its table since this controller began."""
    closing_waits: str | None = field(default=None, metadata=OPTIONAL)
    """Why no consumer is closed at present, whatever the load is; null if the load of the last minutes decides."""


@dataclass(frozen=True, slots=True)
class Picture:
    overview: Overview
    consumers: SortedMapping[ConsumerId, ConsumerStatus] = field(default_factory=SortedMapping)
    partitions: SortedMapping[TopicPartition, PartitionStatus] = field(default_factory=SortedMapping)
