"""A consumer process: the real machine with a simulated Kafka, volume and sinks.

It carries out the machine's effects one by one, and may crash or hang after each: between Save and Send, between the
commits of two tables, between a table's commit and the end of the cycle. The platform starts and ends it.
"""

import random
from collections import deque
from collections.abc import Iterable
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
    CycleEnded,
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
from restow.protocol.messages.reports import Failure
from restow.protocol.topic_service import TopicService
from restow.simulator.data import RECORD_BYTES
from restow.simulator.machines import COLD_S
from restow.simulator.platform import SimulatedPlatform
from restow.simulator.processes import SimulatedProcess
from restow.simulator.topics import Topic, TopicReader

if TYPE_CHECKING:
    from restow.simulator.world import World

REPLACED: Final = "another consumer has written to the table"
GAP: Final = "records were deleted before they were read"
BROKEN_TRANSFORM: Final = "broken:transform"
"""A transform that can't be imported."""
OLDER: Final = 0.5
"""The share of processes without claims, in runs that have some."""
SUSPECT_RECORDS: Final = 5
"""The most that the first cycle of a process reads of a partition that consumers crashed on; it doubles with each."""
BROKEN_CODE: Final = "broken"
"""No transform of restow.toml can be imported from code whose digest begins with this."""


@dataclass(slots=True)
class Volume:
    saved: Checkpoint | None = None


@dataclass(slots=True)
class PendingRange:
    """The offsets of one partition that a cycle reads."""

    partition: TopicPartition
    row: int
    first: int
    following: int
    left: int
    """Records beyond this cycle's limit."""


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
        self._cycle_began_s = 0.0
        self._cycle: RunCycle | None = None
        self._ranges: list[PendingRange] = []
        self._gaps: list[TopicPartition] = []
        self._failures: tuple[Failure, ...] = ()
        self._is_cold = False
        self._suspects_read: dict[TopicPartition, int] = {}
        """How many cycles have read each suspect."""
        self._reads_suspects = False
        """Whether the next cycle reads a suspect, and nothing else."""
        self._unread: dict[TopicPartition, int] = {}
        """The backlog of each partition that the cycle can't store."""
        self._ended: CycleEnded | None = None
        """The result of the cycle, while it waits for data and commands."""
        self.busy_s = 0.0
        """Seconds of work in cycles so far."""
        self._speed = (settings.capacity_bytes_per_s or world.scenario.capacity_bytes_per_s) * rng.uniform(1.02, 1.2)

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
        )
        self._effects.extend(_as_older(effect) if self.is_older else effect for effect in effects)
        self._go_on()

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
                self._release(partition)
            self.platform.exited(self)

    def exit(self) -> None:
        self.die()

    # Effects.

    def _step(self, event: Event) -> None:
        assert self.state is not None
        self.state, effects = machine.step(self.state, event)
        self._effects.extend(effects)
        self.world.coverage.consumer(event, effects)

    def _go_on(self) -> None:
        while self._effects and self.is_alive:
            if self.is_frozen:
                self.at(self.frozen_until_s, self._go_on)
                return
            effect = self._effects[0]
            if isinstance(effect, Send) and not self.world.kafka.is_up:
                self.at(self.world.kafka.down_until_s + self.rng.random(), self._go_on)
                return
            self._effects.popleft()
            self._do(effect)
            if not self.passes():
                if self.is_alive:
                    self.at(self.frozen_until_s, self._go_on)
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
                    self._step(ReadySent(offset))
            case Save(checkpoint):
                self.volume.saved = checkpoint
                self.world.watch.saved(self)
            case ChangeAssignment():
                self.world.watch.changing(self, effect)
                self.at(self.now_s + 0.05 + 0.4 * self.rng.random(), lambda: self._change(effect))
            case RunCycle():
                self._run(effect)
            case End():
                self.exit()

    def _change(self, effect: ChangeAssignment) -> None:
        if not self.world.kafka.is_up:
            self.at(self.world.kafka.down_until_s, lambda: self._change(effect))
            return
        stopped = {partition: self.positions[partition] for partition in effect.stop}
        for partition in effect.stop:
            self._release(partition)
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
        self._step(AssignmentChanged(SortedMapping(started), SortedMapping(stopped), tuple(refused)))
        self.world.trace("changed", self.number, started, stopped)
        if self.passes():
            self._go_on()
        else:
            self.at(self.frozen_until_s, self._go_on)

    def _refusal(self, partition: TopicPartition, service: TopicService) -> tuple[Refusal, str] | None:
        if service.transform == BROKEN_TRANSFORM or service.transform in self.broken:
            return "transform", f"{service.transform} can't be imported"
        if self.world.sinks.is_broken(partition.topic, self.now_s):
            return "table", f"the table of {partition.topic} can't be opened"
        if self.world.sinks.has_gap(partition, self.now_s):
            return "gap", GAP
        return None

    def _release(self, partition: TopicPartition) -> None:
        del self.positions[partition]
        self.world.watch.released(self, partition)

    # A cycle: plan and read, store, wait for more.

    def _run(self, effect: RunCycle) -> None:
        if not self.world.kafka.is_up:
            self.at(self.world.kafka.down_until_s + self.rng.random(), lambda: self._run(effect))
            return
        self.world.watch.reading(self, effect)
        self._cycle, self._cycle_began_s, self._ended = effect, self.now_s, None
        self._ranges = self._planned(effect)
        if self._ranges:
            self._is_cold = self.busy_s < COLD_S
            self.at(self.now_s + self.world.scenario.overhead_s + self._seconds(), self._store)
        else:
            self._store()

    def _seconds(self) -> float:
        machines = self.world.machines
        if machines is not None:
            return machines.seconds(self, self._ranges)
        return RECORD_BYTES * sum(each.following - each.first for each in self._ranges) / self._speed

    def _planned(self, effect: RunCycle) -> list[PendingRange]:
        data, now_s, sinks = self.world.data, self.now_s, self.world.sinks
        self._gaps = [each for each in effect.positions if sinks.has_gap(each, now_s)] if sinks.gap_until_s else []
        broken = [topic for topic in effect.topics if sinks.is_broken(topic, now_s)]
        self._failures = tuple(Failure(topic, f"the table of {topic} can't be written") for topic in broken)
        index, end_offset = data.index, data.end_offset
        ranges = []
        wanted = 0
        self._unread = {}
        for partition, first in effect.positions.items():
            row = index[partition]
            end = end_offset(row, now_s)
            if self._gaps and partition in self._gaps:
                continue
            if end > first and partition.topic in broken:
                self._unread[partition] = end - first
            elif end > first:
                ranges.append(PendingRange(partition, row, first, end, 0))
                wanted += end - first
        if effect.suspects:
            ranges, wanted = self._with_care(effect.suspects, ranges)
        machines = self.world.machines
        limit = self.world.scenario.consumer.cycle_bytes
        most = (limit if machines is None else machines.most_bytes(self, effect.positions)) // RECORD_BYTES
        if wanted > most:
            for each in ranges:
                count = max(1, (each.following - each.first) * most // wanted)
                each.left = each.following - each.first - count
                each.following = each.first + count
        return ranges

    def _with_care(
        self, suspects: tuple[TopicPartition, ...], ranges: list[PendingRange]
    ) -> tuple[list[PendingRange], int]:
        """Every other cycle reads a small range of one suspect alone, the others read the rest. What is left counts as
        a backlog."""
        waiting = [each for each in ranges if each.partition in suspects]
        rest = [each for each in ranges if each.partition not in suspects]
        self._reads_suspects = bool(waiting) and (not self._reads_suspects or not rest)
        chosen = [self.rng.choice(waiting)] if self._reads_suspects else rest
        for each in chosen if self._reads_suspects else ():
            whole, cycles = each.following, self._suspects_read.get(each.partition, 0)
            each.following = min(whole, each.first + (SUSPECT_RECORDS << min(cycles, 20)))
            self._suspects_read[each.partition] = cycles + 1
            each.left = whole - each.following
        self._unread.update({each.partition: each.following - each.first for each in ranges if each not in chosen})
        return chosen, sum(each.following - each.first for each in chosen)

    def _is_killed(self) -> bool:
        """Whether a record that it has read kills it."""
        for each in self._ranges:
            offset, until_s = self.world.poison.get(each.partition, (-1, 0.0))
            if self.now_s < until_s and each.first <= offset < each.following:
                self.world.watch.poison_stays.died(self, each.partition, each.first)
                self.die()
                return True
        return False

    def _store(self) -> None:
        """One commit per table, then the group's offsets; it may crash between any two of them."""
        cycle, world = self._cycle, self.world
        assert cycle is not None
        if world.poison and self._is_killed():
            return
        positions = cycle.positions.to_dict()
        replaced: list[TopicPartition] = []
        records, left, topic = 0, 0, None
        taken: list[PendingRange] = []
        for each in self._ranges:
            if each.partition.topic != topic:
                if topic is not None and not self.passes() and not self.is_alive:
                    return
                topic = each.partition.topic
            service = cycle.topics[topic]
            left += each.left
            if world.sinks.take(each.partition, service, each.first, each.following):
                world.watch.stored(self, each.partition, service, each.first, each.following)
                positions[each.partition] = each.following
                records += each.following - each.first
                taken.append(each)
            else:
                replaced.append(each.partition)
        world.measures.stored(taken, self._cycle_began_s, self.now_s)
        if not self.passes() and not self.is_alive:
            return
        if world.kafka.is_up:  # without them the cycle goes on all the same
            for each in taken:
                world.sinks.commit(each.partition, each.following)
        lags = {**self._unread, **{each.partition: each.left for each in self._ranges}}
        dropped = [*replaced, *self._gaps]
        for partition in dropped:
            del positions[partition]
        self._ended = CycleEnded(
            SortedMapping(positions),
            SortedMapping({partition: lags.get(partition, 0) for partition in positions}),
            records,
            records * RECORD_BYTES,
            self.now_s - self._cycle_began_s,
            saturated=left > 0,
            busy_s=self.now_s - self._cycle_began_s if self._ranges else 0.0,
            bytes_by_topic=_bytes_by_topic(taken),
            is_disturbed=bool(replaced),
            failures=self._failures,
            dropped=(
                *([RefusedPartitions(tuple(replaced), "replaced", REPLACED)] if replaced else []),
                *([RefusedPartitions(tuple(self._gaps), "gap", GAP)] if self._gaps else []),
            ),
        )
        if world.machines is not None:
            self.busy_s += self._ended.busy_s
            if self.frozen_until_s > self._cycle_began_s:
                world.machines.misjudged.add(self.number)
            busy_s = world.machines.reported(self, self._ended)
            self._ended = replace(self._ended, busy_s=busy_s, is_cold=self._is_cold)
        for partition in dropped:
            self._release(partition)
        self.positions.update(positions)
        until_s = self._cycle_began_s + world.scenario.consumer.cycle_s
        if not self.passes():
            if self.is_alive:
                self.at(self.frozen_until_s, self._end_cycle)
        elif left or dropped or self.now_s >= until_s:
            self._end_cycle()
        else:
            ended = self._ended
            self.at(until_s, lambda: self._end_cycle() if self._ended is ended else None)

    def _end_cycle(self) -> None:
        ended = self._ended
        if ended is None:
            return
        self._receive()
        self._ended = None
        self._step(ended)
        self._go_on()

    # Messages.

    def _wake(self, time_s: float) -> None:
        self.at(time_s, self._woken)

    def _woken(self) -> None:
        """A command ends an idle wait."""
        if self._ended is None or self._effects:
            return
        self._receive()
        assert self.state is not None
        if self._effects:
            self._go_on()
        if self.state.should_end_cycle and self.is_alive and not self.is_frozen:
            self._end_cycle()

    def _receive(self) -> None:
        now_s = self.now_s
        self._step(ClockTicked(now_s))
        if self.rng.random() < 0.5:  # two partitions are read in any order
            self._receive_queries(now_s)
        before = self.commands.position
        for offset, record in self.commands.read(now_s):
            command = self.world.open(Topic.CONTROLLER, self.number, offset, record)
            if isinstance(command, StartConsumingCommand | StopConsumingCommand):
                self.world.watch.commanded(self, command)
                self._step(CommandRead(offset, command))
        if self.commands.position != before or self.queries.position < self.queries.log.end:
            self._step(CommandsReadTo(self.commands.position))
        self._receive_queries(now_s)
        if self.should_end and self.state is not None and not self.state.ending:
            self._step(EndRequested())

    def _receive_queries(self, now_s: float) -> None:
        for offset, record in self.queries.read(now_s):
            query = self.world.open(Topic.QUERY, self.number, offset, record)
            if isinstance(query, StateQuery):
                self.world.watch.queried(self, query)
                self._step(QueryRead(query, self.commands.log.end))


def _as_older(effect: Effect) -> Effect:
    """As a consumer that does not know claims would send it."""
    if not isinstance(effect, Send) or not isinstance(effect.message, ConsumerReady):
        return effect
    versions = {**effect.message.versions, ConsumerReady.__name__: 1}
    return Send(replace(effect.message, versions=SortedMapping(versions)))


def _bytes_by_topic(taken: Iterable[PendingRange]) -> SortedMapping[str, int]:
    found: dict[str, int] = {}
    for each in taken:
        topic = each.partition.topic
        found[topic] = found.get(topic, 0) + RECORD_BYTES * (each.following - each.first)
    return SortedMapping(found)
