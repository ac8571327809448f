"""A consumer process: the real machine with a simulated Kafka, volume and sinks.

It carries out the machine's effects one by one, and may crash or hang after each, say between Save and Send. The
platform starts and ends it.
"""

import random
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from restow.consumer import machine
from restow.consumer.checkpoint import Checkpoint
from restow.consumer.effects import ChangeAssignment, Effect, End, RunCycle, Save, Send
from restow.consumer.events import (
    AssignmentChanged,
    ClockTicked,
    CommandRead,
    CommandsReadTo,
    EndRequested,
    Event,
    QueryRead,
    ReadySent,
    RefusedPartitions,
)
from restow.consumer.state import State
from restow.controller.foreign import REPORTS_MISSED
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.field_types import BrokenTransforms
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery, StopConsumingCommand
from restow.protocol.messages.consumer_events import ConsumerReady, Refusal
from restow.protocol.topic_service import TopicService
from restow.simulator.cycles import GAP, Cycles
from restow.simulator.platform import SimulatedPlatform
from restow.simulator.processes import SimulatedProcess
from restow.simulator.topics import Topic, TopicReader

if TYPE_CHECKING:
    from restow.simulator.world import World

BROKEN_TRANSFORM: Final = "broken:transform"
"""A transform that can't be imported."""
OLDER: Final = 0.5
"""The share of processes without claims, in runs that have some."""
BROKEN_CODE: Final = "broken"
"""No transform of restow.toml can be imported from code whose digest begins with this."""


@dataclass(slots=True)
class Volume:
    saved: Checkpoint | None = None


class ConsumerProcess(SimulatedProcess):
    def __init__(
        self,
        world: "World",
        number: ConsumerId,
        volume: Volume,
        settings: ConsumerSettings,
        rng: random.Random,
        platform: SimulatedPlatform | None = None,
    ) -> None:
        super().__init__(world, rng)
        self.platform = platform or world.platform
        self._sent_s = self.platform.sent_s.get(number, self.now_s) if self.is_foreign else self.now_s
        self._was_silent = self.is_foreign and number in self.platform.seemed_ended
        self.number, self.volume, self.settings = number, volume, settings
        self.code = ""
        """What was on disk when it began; empty before."""
        self.broken: BrokenTransforms = machine.NONE_BROKEN
        self.incarnation: int | None = None
        self.positions: dict[TopicPartition, int] = {}
        """The partitions it really reads, and the next offset of each."""
        self.is_older = world.scenario.older_consumers and rng.random() < OLDER
        """It is of a version without claims."""
        self.is_disowned = False
        """The platform has reported it gone, wrongly."""
        self.state: State | None = None
        self._effects: deque[Effect] = deque()
        self.should_end = False
        capacity = settings.capacity_bytes_per_s or world.scenario.capacity_bytes_per_s
        self.cycles = Cycles(self, capacity * rng.uniform(1.02, 1.2))

    def begin(self) -> None:
        """Reads from the ends of its partitions: earlier commands were for other incarnations."""
        if not self.world.kafka.is_up:
            self.at(self.world.kafka.down_until_s, self.begin)
            return
        if self.should_end:
            self.exit()
            return
        kafka = self.world.kafka
        commands, queries = kafka.log(Topic.CONTROLLER, self.number), kafka.log(Topic.QUERY, self.number)
        self.commands = TopicReader(kafka, commands, commands.end, self._wake)
        self.queries = TopicReader(kafka, queries, queries.end, self._wake)
        settings = self.world.scenario.consumer
        self.code = self.world.code
        if self.code.startswith(BROKEN_CODE):
            named = {service.transform for service in self.world.rules.consume.values() if service.transform}
            self.broken = SortedMapping(dict.fromkeys(sorted(named), f"{self.code} can't be imported"))
        self.state, effects = machine.begin(
            self.number,
            self.volume.saved,
            settings.report_every_s,
            self.broken,
            self.platform.identity,
            settings.resume_after_s,
            settings.cycle_bytes,
        )
        self._effects.extend(_as_older(effect) if self.is_older else effect for effect in effects)
        self.go_on()

    @property
    def is_foreign(self) -> bool:
        """It runs where the group was before it moved."""
        return self.platform is not self.world.platform

    @property
    def has_seemed_ended(self) -> bool:
        """It hangs, or has once sent nothing for so long that a controller on another platform took it for ended; of a
        process that began after the group had moved, the silence before it and of its predecessors counts too."""
        silent_after_s = REPORTS_MISSED * self.world.scenario.consumer.report_every_s
        return self._was_silent or self.is_frozen or self.now_s - self._sent_s >= silent_after_s

    # Its end.

    def terminate(self) -> None:
        """SIGTERM."""
        self.should_end = True
        if self.state is None:
            self.at(self.now_s, self.exit)
        else:
            self._wake(self.now_s)

    def die(self) -> None:
        """kill -9, or a crash."""
        if self.is_alive:
            self.is_alive = False
            self.world.watch.died(self)
            if self.state is not None:
                self.commands.close()
                self.queries.close()
            for partition in sorted(self.positions):
                self.release(partition)
            self.platform.exited(self)

    def exit(self) -> None:
        self.die()

    # Effects.

    def step(self, event: Event) -> None:
        assert self.state is not None
        self.state, effects = machine.step(self.state, event)
        self._effects.extend(effects)
        self.world.coverage.consumer(event, effects)

    def go_on(self) -> None:
        while self._effects and self.is_alive:
            if self.is_frozen:
                self.at(self.frozen_until_s, self.go_on)
                return
            effect = self._effects[0]
            if isinstance(effect, Send) and not self.world.kafka.is_up:
                self.at(self.world.kafka.down_until_s + self.rng.random(), self.go_on)
                return
            self._effects.popleft()
            self._do(effect)
            if not self.passes():
                if self.is_alive:
                    self.at(self.frozen_until_s, self.go_on)
                return

    def _do(self, effect: Effect) -> None:
        match effect:
            case Send(message):
                offset = self.world.kafka.append(Topic.CONTROLLER, 0, self.world.wire.seal(message))
                self._was_silent, self._sent_s = self.has_seemed_ended, self.now_s
                self.platform.sent_s[self.number] = self.now_s
                if self._was_silent and self.is_foreign:
                    self.platform.seemed_ended.add(self.number)
                self.world.trace("send", self.number, message)
                if isinstance(message, ConsumerReady):
                    self.incarnation = offset
                    self.world.watch.ready(self)
                    self.step(ReadySent(offset))
            case Save(checkpoint):
                self.volume.saved = checkpoint
                self.world.watch.saved(self)
            case ChangeAssignment():
                self.world.watch.changing(self, effect)
                self.at(self.now_s + 0.05 + 0.4 * self.rng.random(), lambda: self._change(effect))
            case RunCycle():
                self.cycles.run(effect)
            case End():
                self.exit()

    def _change(self, effect: ChangeAssignment) -> None:
        if not self.world.kafka.is_up:
            self.at(self.world.kafka.down_until_s, lambda: self._change(effect))
            return
        stopped = {partition: self.positions[partition] for partition in effect.stop}
        for partition in effect.stop:
            self.release(partition)
        started: dict[TopicPartition, int] = {}
        refused: list[RefusedPartitions] = []
        for partition, start in effect.start.items():
            service = effect.topics[partition.topic]
            reason = self._refusal(partition, service)
            if reason is not None:
                refused.append(RefusedPartitions((partition,), *reason))
                continue
            data = self.world.data
            end = data.end_offset(data.index[partition], self.now_s)
            started[partition] = self.world.sinks.position(partition, service, start, end)
            self.positions[partition] = started[partition]
            self.world.watch.held(self, partition, service)
        self.step(AssignmentChanged(SortedMapping(started), SortedMapping(stopped), tuple(refused)))
        self.world.trace("changed", self.number, started, stopped)
        if self.passes():
            self.go_on()
        else:
            self.at(self.frozen_until_s, self.go_on)

    def _refusal(self, partition: TopicPartition, service: TopicService) -> tuple[Refusal, str] | None:
        if service.transform == BROKEN_TRANSFORM or service.transform in self.broken:
            return "transform", f"{service.transform} can't be imported"
        if self.world.sinks.is_broken(partition.topic, self.now_s):
            return "table", f"the table of {partition.topic} can't be opened"
        if self.world.sinks.has_gap(partition, self.now_s):
            return "gap", GAP
        return None

    def release(self, partition: TopicPartition) -> None:
        del self.positions[partition]
        self.world.watch.released(self, partition)

    # Messages.

    def _wake(self, time_s: float) -> None:
        self.at(time_s, self._woken)

    def _woken(self) -> None:
        """A command ends an idle wait."""
        if not self.cycles.is_idle or self._effects:
            return
        self.receive()
        assert self.state is not None
        if self._effects:
            self.go_on()
        if self.state.should_end_cycle and self.is_alive and not self.is_frozen:
            self.cycles.end()

    def receive(self) -> None:
        now_s = self.now_s
        self.step(ClockTicked(now_s))
        if self.rng.random() < 0.5:  # two partitions are read in any order
            self._receive_queries(now_s)
        before = self.commands.position
        for offset, record in self.commands.read(now_s):
            command = self.world.open(Topic.CONTROLLER, self.number, offset, record)
            if isinstance(command, (StartConsumingCommand, StopConsumingCommand)):
                self.world.watch.commanded(self, command)
                self.step(CommandRead(offset, command))
        if self.commands.position != before or self.queries.position < self.queries.log.end:
            self.step(CommandsReadTo(self.commands.position))
        self._receive_queries(now_s)
        if self.should_end and self.state is not None and not self.state.ending:
            self.step(EndRequested())

    def _receive_queries(self, now_s: float) -> None:
        for offset, record in self.queries.read(now_s):
            query = self.world.open(Topic.QUERY, self.number, offset, record)
            if isinstance(query, StateQuery):
                self.world.watch.queried(self, query)
                self.step(QueryRead(query, self.commands.log.end))


def _as_older(effect: Effect) -> Effect:
    """As a consumer that does not know claims would send it."""
    if not isinstance(effect, Send) or not isinstance(effect.message, ConsumerReady):
        return effect
    versions = {**effect.message.versions, ConsumerReady.__name__: 1}
    return Send(replace(effect.message, versions=SortedMapping(versions)))
