"""What a controller knows. Frozen, like everything in it; what follows from it is derived, not remembered beside it.

A consumer *may hold* what it said that it holds and what it was told to start and has not answered. A partition is
given to another only when nobody else may hold it. So every unanswered command is kept until it is answered, or until
its consumer is another incarnation, which obeys none of them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from restow.controller.events import SpeedsMeasured
from restow.controller.transitions import Phase, Stage
from restow.model import Assignment, ConsumerId, SortedMapping, TopicPartition
from restow.packing import DEFAULT_PACKER
from restow.protocol.messages import (
    Command,
    ConsumerReport,
    ConsumerSettings,
    Offsets,
    StartConsumingCommand,
    TopicService,
)
from restow.settings import Consumer, Controller


@dataclass(frozen=True)
class Rules:
    """What a controller is told once, from restow.toml."""

    controller: Controller = field(default_factory=Controller)
    consumer: Consumer = field(default_factory=Consumer)
    consume: SortedMapping[str, TopicService] = field(default_factory=SortedMapping)
    """By a topic's name, or by a regular expression that starts with ^."""
    packer: str = DEFAULT_PACKER

    def service_of(self, topic: str) -> TopicService | None:
        if topic not in self._services:
            matching = (name for name in self.consume if name.startswith("^") and re.fullmatch(name, topic))
            name = topic if topic in self.consume else next(matching, None)
            self._services[topic] = None if name is None else self.consume[name]
        return self._services[topic]

    @cached_property
    def _services(self) -> dict[str, TopicService | None]:
        """What was found before: expressions are slow."""
        return {}


@dataclass(frozen=True, slots=True)
class Sent:
    """A command that is not answered yet."""

    command: Command
    since_s: float
    """When it was last sent, in listened seconds."""
    left: frozenset[TopicPartition]
    """Partitions of it that are not answered: some may be started and others refused."""
    tries: int = 1

    @property
    def starts(self) -> bool:
        return isinstance(self.command, StartConsumingCommand)


@dataclass(frozen=True, slots=True)
class View:
    """One consumer, as far as it is known. Times are listened seconds (`State.listened_s`)."""

    phase: Phase
    since_s: float
    """In this phase since."""
    heard_s: float
    """When it last said anything."""
    up_s: float | None = None
    """When the platform first told that a process of it had begun, of those that have said nothing yet."""
    incarnation: int | None = None
    held: frozenset[TopicPartition] = frozenset()
    """What it said that it holds, changed by what it has answered since."""
    definitions: SortedMapping[str, str] = field(default_factory=SortedMapping)
    sent: tuple[Sent, ...] = ()
    sequence: int = 0
    """Of the last command sent to it in this epoch."""
    told: bool = False
    """Whether it has told this controller what it holds."""
    queries: int = 0
    """How often it was asked for that."""
    asked_s: float = 0.0
    """When it was last asked for that, or the platform to delete it."""
    again_s: float | None = None
    """When to try again what the platform refused."""
    versions: SortedMapping[str, int] = field(default_factory=SortedMapping)
    report: ConsumerReport | None = None
    settings: str | None = None
    """The fingerprint of those that it was created or last restarted with; None: nobody has told."""
    had: frozenset[TopicPartition] = frozenset()
    """What it held when it was restarted with new settings: while it is rolling these wait for it, and the first plan
    after that begins with them where they were."""

    @property
    def may_hold(self) -> frozenset[TopicPartition]:
        started = [partition for sent in self.sent if sent.starts for partition in sent.left]
        return self.held.union(started) if started else self.held

    def is_starting(self, now_s: float, ready_within_s: float) -> bool:
        """The platform has started it again by itself: it is silent for as long as a start takes."""
        return self.up_s is not None and self.up_s >= self.heard_s and now_s - self.up_s < ready_within_s

    @property
    def may_hold_anything(self) -> bool:
        """It was there before us and has not told us."""
        return not self.told and self.phase in (Phase.ASKED, Phase.RESTARTED, Phase.LOST)

    def digests_of(self, topic: str) -> frozenset[str]:
        """By which definitions it reads a topic, or will when it obeys."""
        held = {self.definitions[topic]} if topic in self.definitions else set()
        commands = (sent.command for sent in self.sent)
        starts = (command for command in commands if isinstance(command, StartConsumingCommand))
        return frozenset(held.union(start.topics[topic].digest for start in starts if topic in start.topics))

    def is_stopping(self, partition: TopicPartition) -> bool:
        """Whether the last unanswered command about it is to stop."""
        last = next((sent for sent in reversed(self.sent) if partition in sent.left), None)
        return last is not None and not last.starts


@dataclass(frozen=True, slots=True)
class Pause:
    """After a failure: not again before a time, and longer after each."""

    failures: int
    until_s: float


@dataclass(frozen=True, slots=True)
class State:
    rules: Rules
    stage: Stage = Stage.SYNCHRONIZE
    epoch: int | None = None
    now_s: float | None = None
    listened_s: float = 0.0
    """Seconds in which word could have reached us. Patience is counted in them: an outage, or a pause of our own,
    counts against nobody."""
    listed: bool = False
    """Whether the platform has told who is there."""
    listed_s: float = 0.0
    """When the platform was last asked."""
    consumers: Mapping[ConsumerId, View] = field(default_factory=dict)
    """By number, ascending."""
    updates: SortedMapping[str, TopicService | None] = field(default_factory=SortedMapping)
    """What the service topic says of topics; None: no longer of interest. It counts more than the rules."""
    settings: ConsumerSettings = field(default_factory=ConsumerSettings)
    """What consumers run as, by the service topic; what it leaves out is as the rules say."""
    env_digest: str = ""
    """Of its variables, whose values are in no event log."""
    known: frozenset[TopicPartition] = frozenset()
    """Every partition that was measured or held."""
    measured: SpeedsMeasured | None = None
    """The newest that could be believed, with the last known speed of partitions that were missing in it."""
    measured_s: float = 0.0
    """When it came; before the first, when we began."""
    began_s: float = 0.0
    """The first tick."""
    looked_s: float = 0.0
    """When Reassign last looked."""
    packed: SpeedsMeasured | None = None
    """What the last decision was made by."""
    target: Assignment | None = None
    """In Manage: what it works for."""
    stopped: Offsets = field(default_factory=SortedMapping)
    """Where partitions that nobody holds were stopped."""
    refused: SortedMapping[TopicPartition, Pause] = field(default_factory=SortedMapping)
    """Partitions that were refused: they rest until the pause is over."""
    creation: Pause = Pause(0, 0.0)
    """After a consumer could not be started."""
    to_replace: bool = False
    """A consumer was lost as it was restarted with new settings: no other is risked until a new one has come up."""
    tolerated: frozenset[ConsumerId] = frozenset()
    """Consumers that the last look left above their trigger, because nothing could be done: no reason to look again."""
    checked_s: float = 0.0
    """When the reasons to look were last gone through."""
    flags: SortedMapping[str, str] = field(default_factory=SortedMapping)
    """What a person should know of, by name, in words."""

    def service_of(self, topic: str) -> TopicService | None:
        """What becomes of a topic's records; None: it is of no interest."""
        if topic in self.updates:
            return self.updates[topic]
        return self.rules.service_of(topic)

    @property
    def consumer_settings(self) -> ConsumerSettings:
        """What a consumer that is created or restarted now runs as."""
        base, update = self.rules.consumer.settings, self.settings
        return ConsumerSettings(
            image=update.image if update.image is not None else base.image,
            memory_mb=update.memory_mb if update.memory_mb is not None else base.memory_mb,
            cores=update.cores if update.cores is not None else base.cores,
            capacity_bytes_per_s=self.capacity_bytes_per_s,
            env=update.env,
        )

    @property
    def fingerprint(self) -> str:
        """Of the settings that hold now."""
        return self.consumer_settings.fingerprint_with(self.env_digest)

    @property
    def capacity_bytes_per_s(self) -> float:
        return self.settings.capacity_bytes_per_s or self.rules.consumer.capacity_bytes_per_s

    @property
    def speeds_are_stale(self) -> bool:
        return self.measured is None or self.time_s - self.measured_s > self.rules.controller.stale_after_s

    @property
    def must_hold(self) -> bool:
        """Speeds are stale; or we have just begun, and what was not measured so far may still be: it is no reason to
        close consumers that something held counts as 0."""
        if self.speeds_are_stale or self.measured is None:
            return True
        if self.time_s - self.began_s >= self.rules.controller.stale_after_s:
            return False
        held = (partition for view in self.consumers.values() for partition in view.held)
        return any(p not in self.measured.speeds and self.service_of(p.topic) is not None for p in held)

    @property
    def time_s(self) -> float:
        return 0.0 if self.now_s is None else self.now_s

    @property
    def may_create(self) -> bool:
        return self.time_s >= self.creation.until_s

    @property
    def can_have_anybody(self) -> bool:
        """Somebody is there who can be given partitions, or may be created."""
        most = self.rules.controller.most_consumers
        return bool(self.usable()) or (self.may_create and (most is None or self.rolling < most))

    @property
    def rolling(self) -> int:
        """How many are being restarted with new settings."""
        return sum(view.phase is Phase.ROLLING for view in self.consumers.values())

    def parked(self) -> frozenset[TopicPartition]:
        """What waits for a consumer that is rolling, unless somebody else turned out to have it."""
        had = frozenset[TopicPartition]().union(*(v.had for v in self.consumers.values() if v.phase is Phase.ROLLING))
        if had:
            had = had.difference(*(v.may_hold for v in self.consumers.values() if v.phase is not Phase.ROLLING))
        return had

    def is_resting(self, partition: TopicPartition) -> bool:
        pause = self.refused.get(partition)
        return pause is not None and self.time_s < pause.until_s

    def holders(self) -> dict[TopicPartition, list[ConsumerId]]:
        """Who may hold each partition. Those who were given up count only where their late writes would be taken: such
        a partition waits until they are gone."""
        found: dict[TopicPartition, list[ConsumerId]] = {}
        for consumer, view in self.consumers.items():
            lost = view.phase is Phase.LOST
            for partition in view.may_hold:
                if not lost or not self.refuses_late_writes(partition.topic):
                    found.setdefault(partition, []).append(consumer)
        return found

    def refuses_late_writes(self, topic: str) -> bool:
        service = self.service_of(topic)
        return service is not None and service.refuses_late_writes

    @property
    def unknown(self) -> frozenset[Phase]:
        """The phases of those who may hold anything."""
        return frozenset(view.phase for view in self.consumers.values() if view.may_hold_anything)

    def must_wait(self, partition: TopicPartition, unknown: frozenset[Phase]) -> bool:
        """Somebody who has told nothing may hold it. One that is lost counts only where its late writes would be
        taken."""
        return bool(unknown - {Phase.LOST}) or (bool(unknown) and not self.refuses_late_writes(partition.topic))

    def contenders(self, consumers: list[ConsumerId]) -> list[ConsumerId]:
        """Of those who may hold a partition, those who are not on their way out."""
        return [c for c in consumers if self.consumers[c].phase not in (Phase.LEAVING, Phase.LOST, Phase.ROLLING)]

    def awaited(self) -> frozenset[ConsumerId]:
        return frozenset(consumer for consumer, view in self.consumers.items() if view.phase is Phase.AWAITED)

    def usable(self) -> tuple[ConsumerId, ...]:
        """Consumers that can be given partitions, now or as soon as they are ready."""
        working = (Phase.READY, Phase.AWAITED, Phase.RESTARTED)
        return tuple(
            consumer
            for consumer, view in self.consumers.items()
            if view.phase in working and not view.may_hold_anything
        )
