"""What the controller knows. Frozen, like everything in it; what follows from it is derived, never cached beside it.

A consumer *may hold* the partitions it has reported and those of every Start it has not answered. A partition is given
to a consumer only when no other may hold it. So each unanswered command is kept until its answer, or until its consumer
is another incarnation, which obeys none of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Final

from restow.backoff import Backoff
from restow.controller.desired import Desired
from restow.controller.events import SpeedsMeasured, Window
from restow.controller.learned import Learned
from restow.controller.peaks import Peaks
from restow.controller.transitions import Phase, Stage
from restow.model import Assignment, Capacities, ConsumerId, SortedMapping, TopicPartition
from restow.packing import DEFAULT_PACKER
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.field_types import Offsets
from restow.protocol.messages.commands import StartConsumingCommand
from restow.protocol.messages.consumer_events import ConsumerReady
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.messages.unions import Command
from restow.protocol.platform_identity import PlatformIdentity
from restow.protocol.topic_names import NamesAndPatterns
from restow.protocol.topic_service import TopicService
from restow.settings import START_CAPACITY_BYTES_PER_S, Consumer, Controller

CLAIMS_VERSION: Final = 2
"""The version of ConsumerReady that has claims."""
AWAY: Final = (Phase.LEAVING, Phase.LOST, Phase.ROLLING, Phase.CRASHED)
"""The phases of a consumer that no plan has: whatever it may hold is not for it to keep, or waits for it."""
LONGEST_PAUSE: Final = 20
"""A pause after failures grows to this many times the first."""


@dataclass(frozen=True)
class Rules:
    """The parts of restow.toml that the controller decides by."""

    controller: Controller = field(default_factory=Controller)
    consumer: Consumer = field(default_factory=Consumer)
    consume: SortedMapping[str, TopicService] = field(default_factory=SortedMapping)
    """By topic name, or by a regular expression that starts with ^."""
    packer: str = DEFAULT_PACKER
    own_topics: tuple[str, ...] = ()
    """The topics over which the group communicates: no regular expression matches them."""
    judges_evidence: bool = True
    """Whether the backlogs of stuck and failing partitions are left out of the load, and scale-ups are judged. Event
    logs before version 6 were made without."""
    checks_each_load: bool = True
    """Whether a consumer is closed by the loads of the last minutes, and not by the highest speed of each partition,
    which were seldom at the same time. Event logs without this were made by the second."""

    def service_of(self, topic: str) -> TopicService | None:
        if topic not in self._services:
            name = self._wanted.entry_for(topic, is_restows=topic in self.own_topics)
            self._services[topic] = None if name is None else self.consume[name].for_topic(topic)
        return self._services[topic]

    @cached_property
    def consumer_settings(self) -> ConsumerSettings:
        return self.consumer.settings

    @cached_property
    def _wanted(self) -> NamesAndPatterns:
        return NamesAndPatterns(self.consume)

    @cached_property
    def _services(self) -> dict[str, TopicService | None]:
        """Cached, because matching regular expressions is slow."""
        return {}


@dataclass(frozen=True)
class Sent:
    """An unanswered command."""

    command: Command
    since_s: float
    """When it was last sent, in listened seconds."""
    left: frozenset[TopicPartition]
    """The partitions without an answer: some of a command's may be started and others refused."""
    tries: int = 1

    @property
    def starts(self) -> bool:
        return isinstance(self.command, StartConsumingCommand)

    @property
    def unanswered(self) -> Command:
        """The command for the partitions without an answer: another consumer may have been given the others since."""
        if not isinstance(self.command, StartConsumingCommand):
            return replace(self.command, partitions=tuple(self.left))
        partitions = {p: start for p, start in self.command.partitions.items() if p in self.left}
        topics = {p.topic: self.command.topics[p.topic] for p in partitions}
        return replace(self.command, topics=SortedMapping(topics), partitions=SortedMapping(partitions))


@dataclass(frozen=True, slots=True)
class Lagging:
    """A partition's backlog when it last made progress."""

    lag_records: int
    offset: int
    """The next offset that was to be stored."""
    since_s: float
    """In listened seconds."""

    def made_progress(self, lag_records: int, offset: int) -> bool:
        """Whether the backlog is smaller by now, or all of it was stored since."""
        return lag_records < self.lag_records or offset - self.offset >= self.lag_records


@dataclass(frozen=True)
class View:
    """What the controller knows of one consumer. Times are listened seconds (`State.listened_s`)."""

    phase: Phase
    since_s: float
    """When it entered this phase."""
    heard_s: float
    """When its last message arrived."""
    up_s: float | None = None
    """When the platform reported the first of its processes since its last message."""
    incarnation: int | None = None
    held: frozenset[TopicPartition] = frozenset()
    """The partitions it has reported, changed by its answers since."""
    definitions: SortedMapping[str, str] = field(default_factory=SortedMapping)
    """The digest of the definition by which it reads each topic."""
    sent: tuple[Sent, ...] = ()
    sequence: int = 0
    """The number of the last command sent to it in this epoch."""
    has_reported_holdings: bool = False
    """Whether it has reported to this controller what it holds."""
    queries: int = 0
    """How many StateQueries it was sent."""
    asked_s: float = 0.0
    """When its state was last queried, or its restart or deletion last requested."""
    is_ending: bool = False
    """It was restarted in a roll, and the process before has not reported its end: a ConsumerReady may be that
    process's, sent before the restart and read after it."""
    is_asked: bool = False
    """Its last restart was asked for by a person, and not for new settings."""
    retry_platform_at_s: float | None = None
    """When to repeat the request that the platform refused."""
    versions: SortedMapping[str, int] = field(default_factory=SortedMapping)
    report: ConsumerReport | None = None
    lagging: SortedMapping[TopicPartition, Lagging] = field(default_factory=SortedMapping)
    """The partitions with a backlog, as long as the consumer has room (stuck.py)."""
    report_s: float = 0.0
    """When its last report arrived."""
    settings: str | None = None
    """The fingerprint of the settings it was created or last restarted with; None if unknown."""
    broken: frozenset[str] = frozenset()
    """The transforms that its process can't run."""
    held_before_roll: frozenset[TopicPartition] = frozenset()
    """What it held when it was restarted with new settings. These partitions wait for it while it is rolling, and the
    first plan afterwards finds them where they were."""

    will_claim: bool = False
    """Whether its next process, after a crash, claims what it held and resumes nothing at once."""
    claims: frozenset[TopicPartition] = frozenset()
    """What it claims and was not answered yet (claims.py)."""
    ready_s: float | None = None
    """When its last ConsumerReady was read: a crash that is reported in the same moment was the process's before."""
    crashed_s: float | None = None
    """When the crash was reported after which it is restarting."""
    is_late: bool = False
    """It is not ready in time, and stays because the group would have fewer than `least_consumers` without it. No plan
    has it until it is ready."""

    @property
    def may_hold(self) -> frozenset[TopicPartition]:
        started = [partition for sent in self.sent if sent.starts for partition in sent.left]
        return self.held.union(started) if started else self.held

    def is_starting(self, now_s: float, ready_within_s: float) -> bool:
        """Whether the platform has restarted it on its own: it is silent for as long as a start takes."""
        return self.up_s is not None and self.up_s >= self.heard_s and now_s - self.up_s < ready_within_s

    def is_replaced(self, grace_s: float) -> bool:
        """Whether its process before the last roll has certainly ended: it said so, or a message arrived after the
        grace period at whose end it is killed."""
        return not self.is_ending or self.heard_s - self.asked_s >= grace_s

    @property
    def knows_claims(self) -> bool:
        """Whether it can claim what it held, in place of resuming it."""
        return self.will_claim or self.versions.get(ConsumerReady.__name__, 0) >= CLAIMS_VERSION

    @property
    def is_unknown(self) -> bool:
        """Holdings unknown: it predates this controller and has not answered."""
        return not self.has_reported_holdings and self.phase in (Phase.ASKED, Phase.RESTARTED, Phase.LOST)

    def digests_of(self, topic: str) -> frozenset[str]:
        """The definitions by which it reads a topic, or will when it has obeyed its commands."""
        held = {self.definitions[topic]} if topic in self.definitions else set()
        commands = (sent.command for sent in self.sent)
        starts = (command for command in commands if isinstance(command, StartConsumingCommand))
        return frozenset(held.union(start.topics[topic].digest for start in starts if topic in start.topics))

    def is_stopping(self, partition: TopicPartition) -> bool:
        """Whether the last unanswered command for the partition is a Stop."""
        last = next((sent for sent in reversed(self.sent) if partition in sent.left), None)
        return last is not None and not last.starts


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Bad records of a topic that are not in its table."""

    rejected: int = 0
    skipped: int = 0
    last_s: float = 0.0
    """When a consumer last reported some."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Exponential backoff: no new attempt before `until_s`."""

    failures: int = 0
    until_s: float = 0.0

    def after_failure(self, first_s: float, now_s: float) -> "Pause":
        failures = self.failures + 1
        return Pause(failures, now_s + Backoff(first_s, LONGEST_PAUSE * first_s).pause_s(failures))


@dataclass(frozen=True, slots=True)
class Quiet:
    """The end offsets of the consumed topics, summed by topic, and since when they have not changed."""

    ends: SortedMapping[str, int]
    since_s: float


@dataclass(frozen=True, slots=True)
class PartitionCrash:
    """The last crash of a consumer that held a partition, unless the partition was read beyond it since (poison.py)."""

    at_s: float
    """In listened seconds."""
    offset: int | None = None
    """Where the next consumer started it; None until one has."""


@dataclass(frozen=True, slots=True)
class TotalSpeed:
    """The total speed of the consumed partitions at a time."""

    time_s: float
    bytes_per_s: float


@dataclass(frozen=True, slots=True)
class MovesBegun:
    """Moves whose Stop was commanded within one minute."""

    minute_s: float
    """When the minute began."""
    count: int


@dataclass(frozen=True, slots=True)
class ForeignConsumers:
    """Consumers of this group that report from another platform."""

    name: str
    """The platform, in words."""
    consumers: frozenset[ConsumerId]
    heard_s: float
    """When one of them was last heard, in listened seconds."""


@dataclass(frozen=True, slots=True)
class ScaleUp:
    """A scale-up that is not judged yet (gains.py)."""

    consumers: int
    """Before it."""
    bytes_per_s: float
    """The throughput of all of them."""
    wanted: int
    """Consumers after it."""


@dataclass(frozen=True, slots=True)
class NoGain:
    """A scale-up that did not raise the throughput (gains.py)."""

    consumers: int
    """After it."""
    bytes_per_s: float
    """What was written then."""
    enough_bytes_per_s: float
    """The throughput that would have been a gain."""
    terms: str
    """The settings then."""


@dataclass(frozen=True)
class State:
    rules: Rules
    stage: Stage = Stage.SYNCHRONIZE
    epoch: int | None = None
    platform: PlatformIdentity | None = None
    """Where this controller's consumers run; None if unknown."""
    is_forced: bool = False
    """A person said `--take-over`: consumers on other platforms hold nothing up."""
    foreign: SortedMapping[str, ForeignConsumers] = field(default_factory=SortedMapping)
    """Consumers on other platforms that have reported lately, by the platform's id."""
    now_s: float | None = None
    utc_s: float | None = None
    """The wall clock at the last tick, in seconds since 1970; None before the first."""
    listened_s: float = 0.0
    """Seconds in which messages could reach this controller. Timeouts count them, so that an outage of the brokers, or
    a pause of this process, is not held against any consumer."""
    listed: bool = False
    """Whether the platform has listed its consumers."""
    listed_s: float = 0.0
    """When the platform was last asked for them."""
    consumers: Mapping[ConsumerId, View] = field(default_factory=dict)
    """By number, ascending."""
    updates: SortedMapping[str, TopicService | None] = field(default_factory=SortedMapping)
    """The service topic's word on each topic, which overrides the rules; None if a topic is no longer consumed."""
    settings: ConsumerSettings = field(default_factory=ConsumerSettings)
    """The service topic's settings for consumers; the rules have what it leaves out."""
    env_digest: str = ""
    """The digest of those settings' environment variables, whose values are in no event log."""
    code: str | None = None
    """The digest of the transforms' modules that local consumers load."""
    desired: Desired = field(default_factory=Desired)
    """What people want of the group, from the service topic."""
    windows: tuple[Window, ...] = ()
    """Windows of schedules, past and to come."""
    open_windows: tuple[Window, ...] = ()
    """Those that are open by the wall clock."""
    deadlines_s: SortedMapping[TopicPartition, float] = field(default_factory=SortedMapping)
    """When Kafka may delete the oldest unread record of partitions that are served first for it."""
    known: frozenset[TopicPartition] = frozenset()
    """Every partition that was ever measured or held."""
    measured: SpeedsMeasured | None = None
    """The newest plausible measurement, with the last known speed of each partition missing in it."""
    measured_s: float = 0.0
    """When it arrived; before the first, when this controller began."""
    began_s: float = 0.0
    """The first tick."""
    peaks: Peaks = field(default_factory=Peaks)
    """The highest speeds of the last `close_after_s`."""
    quiet: Quiet | None = None
    """Since when nothing has been written, if the group may be parked; None if that is not known."""
    is_parked: bool = False
    """Nothing is written and everything is read: the group has no consumers."""
    totals: tuple[TotalSpeed, ...] = ()
    """The total speed in the last half minute, if rises are predicted."""
    start_times_s: tuple[float, ...] = ()
    """How long the last starts took, from the request for a consumer to its ConsumerReady."""
    restart_times_s: tuple[float, ...] = ()
    """How long the last restarts after crashes took, from the platform's report of the crash to the ConsumerReady."""
    crashes: SortedMapping[TopicPartition, PartitionCrash] = field(default_factory=SortedMapping)
    """The partitions whose consumers crashed lately."""
    suspects: frozenset[TopicPartition] = frozenset()
    """Partitions whose consumers crashed twice while they read them: only their own consumer reads them."""
    predicted_s: float = 0.0
    """When a plan was last made because of predicted speeds."""
    opened_s: float | None = None
    """When a consumer was last created; None if this controller has created none."""
    closed_s: float | None = None
    """When a consumer that was no longer needed was last deleted."""
    moves: tuple[MovesBegun, ...] = ()
    """The moves of the last hour, if there is a budget for them."""
    replanned_s: float = 0.0
    """When Reassign last ran."""
    packed: SpeedsMeasured | None = None
    """The measurement of the last decision."""
    recommended: Assignment | None = None
    """The last plan that was recommended and not carried out, as long as it would be again."""
    target: Assignment | None = None
    """The assignment that Manage works towards."""
    stopped: Offsets = field(default_factory=SortedMapping)
    """The offsets at which partitions that no consumer holds were stopped."""
    refused: SortedMapping[TopicPartition, Pause] = field(default_factory=SortedMapping)
    """Refused partitions, each with its pause."""
    failing: SortedMapping[TopicPartition, str] = field(default_factory=SortedMapping)
    """Partitions that their consumers hold but can't store, each with the reason that the last one reported."""
    left_out: SortedMapping[str, LeftOut] = field(default_factory=SortedMapping)
    """The bad records of each topic that consumers have left out of its table since this controller began."""
    creation: Pause = Pause()
    """No consumer is created before its end: the last new one did not become ready."""
    roll_halted: bool = False
    """A consumer did not start, or did not come back, with the current settings: no healthy one is restarted with them
    until a new one is ready."""
    failing_before_roll: frozenset[str] = frozenset()
    """The topics that could not be stored when the last restart of a roll began, or when the settings changed."""
    tolerated: frozenset[ConsumerId] = frozenset()
    """Consumers that the last plan left above the trigger, because nothing could be done: no cause to plan again."""
    checked_s: float = 0.0
    """When the causes to plan were last checked."""
    learned: Learned = field(default_factory=Learned)
    """What consumers carry and topics cost, as far as it is not fixed by settings."""
    too_fast: SortedMapping[TopicPartition, float] = field(default_factory=SortedMapping)
    """Partitions faster than any consumer, each with how many times, as last flagged (fastest.py)."""
    scale_up: ScaleUp | None = None
    """The scale-up that is to be judged."""
    no_gain: NoGain | None = None
    """No further consumer is opened after it, until something changes."""
    no_fall_from: int | None = None
    """Learned capacities do not fall while the group has at least this many consumers: the last of them raised
    nothing."""
    flags: SortedMapping[str, str] = field(default_factory=SortedMapping)
    """Conditions that operators should know of, in words, by name."""

    def service_of(self, topic: str) -> TopicService | None:
        """What happens to a topic's records; None if the group does not consume it."""
        if topic in self.updates:
            return self.updates[topic]
        return self.rules.service_of(topic)

    @property
    def consumer_settings(self) -> ConsumerSettings:
        """The settings for a consumer that is created or restarted now."""
        return _settings(self.rules.consumer_settings, self.settings, self.code)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of `consumer_settings`."""
        return _fingerprint(self.consumer_settings, self.env_digest)

    @property
    def fixed_capacity_bytes_per_s(self) -> float | None:
        """The capacity of every consumer by settings; None if it is learned."""
        return self.settings.capacity_bytes_per_s or self.rules.consumer.capacity_bytes_per_s

    @property
    def capacity_bytes_per_s(self) -> float:
        """What a new consumer is assumed to carry."""
        fixed = self.fixed_capacity_bytes_per_s
        return fixed or self.learned.median_bytes_per_s() or START_CAPACITY_BYTES_PER_S

    def capacities(self) -> Capacities:
        """What each consumer carries."""
        if self.fixed_capacity_bytes_per_s is not None:
            return Capacities(self.fixed_capacity_bytes_per_s)
        known = self.learned.capacities.items()
        own = {consumer: learned.bytes_per_s for consumer, learned in known if consumer in self.consumers}
        return Capacities(self.capacity_bytes_per_s, SortedMapping(own))

    def fixed_cost(self, topic: str) -> float | None:
        """The cost of a topic's bytes by settings; None if it is learned."""
        service = self.service_of(topic)
        fixed = None if service is None else service.cost
        return 1.0 if fixed is None and self.fixed_capacity_bytes_per_s is not None else fixed

    def cost_of(self, topic: str) -> float:
        """How much work a byte of the topic is, relative to the mean of all topics."""
        fixed = self.fixed_cost(topic)
        if fixed is not None:
            return fixed
        known = self.learned.costs.get(topic)
        return 1.0 if known is None else known.cost

    @property
    def least_consumers(self) -> int:
        """By the service topic, else by an open window, else by the rules; at most `most_consumers`."""
        least, most = self.settings.least_consumers, self.most_consumers
        least = self._scheduled_least if least is None else least
        least = self.rules.controller.least_consumers if least is None else least
        return least if most is None else min(least, most)

    @property
    def most_consumers(self) -> int | None:
        """By the service topic, else by an open window, else by the rules. A lower limit of a higher source raises an
        upper limit that is below it."""
        least, most = self.settings.least_consumers or 0, self.settings.most_consumers
        if most is not None:
            return most
        scheduled = min((each.most for each in self.open_windows if each.most is not None), default=None)
        if scheduled is not None:
            return max(least, scheduled)
        if self.rules.controller.most_consumers is None:
            return None
        return max(least, self._scheduled_least or 0, self.rules.controller.most_consumers)

    @property
    def _scheduled_least(self) -> int | None:
        return max((each.least for each in self.open_windows if each.least is not None), default=None)

    @property
    def is_paused(self) -> bool:
        """By a person, or by a schedule."""
        return self.desired.pause is not None or any(window.hold for window in self.open_windows)

    @property
    def only_recovers(self) -> bool:
        """Whether a person or a schedule holds the controller: it recovers partitions that no consumer reads, and
        changes nothing for load."""
        return self.is_paused or self.desired.recommend is not None

    @property
    def speeds_are_stale(self) -> bool:
        return self.measured is None or self.time_s - self.measured_s > self.rules.controller.stale_after_s

    @property
    def is_scaling_frozen(self) -> bool:
        """Speeds are stale; or this controller has just begun and a held partition is not measured yet: its speed of 0
        is no reason to close consumers."""
        if self.speeds_are_stale or self.measured is None:
            return True
        if self.time_s - self.began_s >= self.rules.controller.stale_after_s:
            return False
        known = self.measured.speeds.keys()
        incomplete = (view.held for view in self.consumers.values() if not view.held <= known)
        return any(p not in known and self.service_of(p.topic) is not None for held in incomplete for p in held)

    @property
    def time_s(self) -> float:
        return 0.0 if self.now_s is None else self.now_s

    @property
    def may_create(self) -> bool:
        return self.time_s >= self.creation.until_s

    @property
    def has_too_few(self) -> bool:
        """Whether the group has fewer than `least_consumers`, those that are starting among them."""
        return len(self.usable()) + self.set_aside < self.least_consumers

    @property
    def can_have_consumers(self) -> bool:
        """A consumer exists that can be given partitions, or one may be created."""
        most = self.most_consumers
        return bool(self.usable()) or (self.may_create and (most is None or self.set_aside < most))

    @property
    def rolling(self) -> int:
        """How many consumers are restarting with new settings."""
        return sum(view.phase is Phase.ROLLING for view in self.consumers.values())

    @property
    def set_aside(self) -> int:
        """How many consumers belong to the group but can't be given partitions: rolling, crashed and late ones."""
        away = (Phase.ROLLING, Phase.CRASHED)
        return sum(view.phase in away or view.is_late for view in self.consumers.values())

    def parked(self) -> frozenset[TopicPartition]:
        """Partitions that wait for a rolling or crashed consumer, unless another consumer turned out to hold them."""
        away = (Phase.ROLLING, Phase.CRASHED)
        rolling = [view for view in self.consumers.values() if view.phase is Phase.ROLLING]
        waiting = frozenset[TopicPartition]().union(*(view.held_before_roll for view in rolling))
        for view in self.consumers.values():
            if view.phase is Phase.CRASHED:
                waiting = waiting.union(view.held)
        if waiting:
            others = (view for view in self.consumers.values() if view.phase not in away)
            waiting = waiting.difference(*(view.may_hold for view in others))
        return waiting

    def is_given_up(self, view: View, partition: TopicPartition) -> bool:
        """Whether another consumer may start a partition that this one may hold: it was given up, and the table refuses
        its late writes."""
        return view.phase is Phase.LOST and self.refuses_late_writes(partition.topic)

    def waits_for_restart(self, partition: TopicPartition) -> bool:
        """Whether a partition waits for its crashed consumer: because its table would accept late writes of the crashed
        process, because the partition is suspected to have caused the crash, or because a person pinned it."""
        if partition in self.suspects or partition in self.desired.taken_pins:
            return True
        return not self.refuses_late_writes(partition.topic)

    def is_resting(self, partition: TopicPartition) -> bool:
        """Whether the partition was refused and its pause is not over."""
        pause = self.refused.get(partition)
        return pause is not None and self.time_s < pause.until_s

    def holders(self) -> dict[TopicPartition, list[ConsumerId]]:
        """The consumers that may hold each partition. A lost one counts only where its late writes would be accepted:
        such a partition waits until it is gone."""
        found: dict[TopicPartition, list[ConsumerId]] = {}
        for consumer, view in self.consumers.items():
            lost = view.phase is Phase.LOST
            for partition in view.may_hold:
                if not lost or not self.is_given_up(view, partition):
                    found.setdefault(partition, []).append(consumer)
        return found

    def refuses_late_writes(self, topic: str) -> bool:
        service = self.service_of(topic)
        return service is not None and service.refuses_late_writes

    @property
    def unknown_phases(self) -> frozenset[Phase]:
        """The phases of the consumers whose holdings are unknown."""
        return frozenset(view.phase for view in self.consumers.values() if view.is_unknown)

    def must_wait(self, partition: TopicPartition, unknown_phases: frozenset[Phase]) -> bool:
        """Whether a consumer with unknown holdings may hold the partition. A lost one counts only where its late
        writes would be accepted."""
        if unknown_phases - {Phase.LOST}:
            return True
        return bool(unknown_phases) and not self.refuses_late_writes(partition.topic)

    def contenders(self, consumers: list[ConsumerId]) -> list[ConsumerId]:
        """Of the consumers that may hold a partition, those that stay."""
        return [c for c in consumers if self.consumers[c].phase not in AWAY]

    def awaited(self) -> frozenset[ConsumerId]:
        """New consumers in the plan that are not ready yet."""
        awaited = (c for c, view in self.consumers.items() if view.phase is Phase.AWAITED and not view.is_late)
        return frozenset(awaited)

    def usable(self) -> tuple[ConsumerId, ...]:
        """Consumers that can be given partitions, now or as soon as they are ready."""
        working = (Phase.READY, Phase.AWAITED, Phase.RESTARTED)
        return tuple(
            consumer
            for consumer, view in self.consumers.items()
            if view.phase in working and not view.is_unknown and not view.is_late
        )


@lru_cache(maxsize=64)  # every look compares the fingerprint of every consumer with it
def _settings(base: ConsumerSettings, update: ConsumerSettings, code: str | None) -> ConsumerSettings:
    return ConsumerSettings(
        image=update.image if update.image is not None else base.image,
        memory_mb=update.memory_mb if update.memory_mb is not None else base.memory_mb,
        cores=update.cores if update.cores is not None else base.cores,
        capacity_bytes_per_s=update.capacity_bytes_per_s or base.capacity_bytes_per_s,
        env=update.env,
        code=code,
    )


@lru_cache(maxsize=64)
def _fingerprint(settings: ConsumerSettings, env_digest: str) -> str:
    return settings.fingerprint_with(env_digest)
