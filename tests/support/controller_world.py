"""A small world around a real controller that knows the truth: what each process really reads, and the commands it has
not read yet. Commands, records and platform requests wait until an action lets them happen, in any order that Kafka and
a platform allow; the property tests choose the actions.

Whatever they choose, `World` asserts what must never happen: a partition is started while another process reads it, or
will when it obeys or comes back; a consumer is deleted with partitions; a transition is illegal; a sequence number does
not grow; one process has two definitions of a topic.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.support.controller_driver import RULES

from restow.controller.effects import ListConsumers, Moved, Send
from restow.controller.event_log import EntryWriter, header
from restow.controller.events import (
    ClockTicked,
    ConsumersListed,
    Event,
    Heard,
    PlatformRefused,
    Received,
    ServiceChanged,
    SpeedsMeasured,
    TookOver,
)
from restow.controller.machine import begin, step
from restow.controller.state import Rules, State
from restow.controller.transitions import PHASES, TRANSITIONS, Phase, Stage
from restow.model import ConsumerId, SortedMapping, Speeds, TopicPartition
from restow.platform.interface import (
    ConsumerFailing,
    ConsumerGone,
    CreateConsumer,
    DeleteConsumer,
    Listed,
    PlatformChange,
    RestartConsumer,
)
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.field_types import Offsets
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery, StopConsumingCommand
from restow.protocol.messages.consumer_events import (
    ConsumerReady,
    ConsumingRefused,
    StartConsumingEvent,
    StateQueryResponse,
    StopConsumingEvent,
)
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.messages.unions import Command, FromConsumer
from restow.protocol.topic_service import TopicService


@dataclass
class Volume:
    """A consumer's checkpoint, which outlives its process."""

    held: dict[TopicPartition, int] = field(default_factory=dict)
    topics: dict[str, TopicService] = field(default_factory=dict)

    @property
    def definitions(self) -> SortedMapping[str, str]:
        return SortedMapping({topic: self.topics[topic].digest for topic in {p.topic for p in self.held}})


@dataclass
class Machine:
    """A consumer on its platform: a volume, with or without a process."""

    volume: Volume = field(default_factory=Volume)
    incarnation: int | None = None
    """Of the running process; None if it is down, and may start."""
    inbox: list[Command | StateQuery] = field(default_factory=list)
    answers: dict[tuple[int, int], FromConsumer] = field(default_factory=dict)
    """By epoch and sequence: a repeated command is answered again and does nothing else."""
    leaving: bool = False
    settings: str = ""
    """The fingerprint of the settings it was created or last restarted with."""

    def may_read(self, partition: TopicPartition) -> bool:
        """Whether it reads the partition now, or will when it obeys or comes back."""
        pending = any(
            partition in command.partitions
            for command in self.inbox
            if isinstance(command, StartConsumingCommand) and command.incarnation == self.incarnation
            if (command.epoch, command.sequence) not in self.answers
        )
        return partition in self.volume.held or pending


class World:
    def __init__(self, rules: Rules = RULES) -> None:
        self.rules = rules
        self.machines: dict[ConsumerId, Machine] = {}
        self.records: list[FromConsumer | None] = []
        """Partition 0; None is a ControllerStarted."""
        self.read_to = 0
        self.now_s = 0.0
        self.offset_of: dict[TopicPartition, int] = {}
        self.speeds = Speeds()
        self.measurements = 0
        self.waiting: list[PlatformChange | PlatformRefused] = []
        """The platform's changes that the controller has not seen."""
        self.updates: list[ServiceUpdate] = []
        self.log: list[str] = []
        self.past: list[str] = []
        """The event logs of former controllers."""
        self.take_over()

    # The controller.

    def take_over(self) -> None:
        """Starts a new controller, which knows the service topic only."""
        self.state: State = begin(self.rules)
        self.past += self.log
        self.log = [header(self.state)]
        self._entries = EntryWriter(self.state.stage)
        self.commands: dict[tuple[ConsumerId, int], dict[int, Command]] = {}
        self.records.append(None)
        self.read_to = len(self.records)
        self.is_list_due = False
        self.waiting.clear()
        self.happens(ClockTicked(self.now_s))
        self.happens(TookOver(len(self.records) - 1))
        for update in self.updates:
            self.happens(ServiceChanged(update))

    def happens(self, event: Event) -> None:
        before = self.state
        self.state, effects = step(before, event)
        self.log.append(self._entries.entry(event, effects, self.state))
        self._check_phases(before)
        stage = before.stage
        for effect in effects:
            match effect:
                case Moved(source, target, cause):
                    assert source is stage
                    assert (source, target, cause) in TRANSITIONS
                    stage = target
                case Send(consumer, message):
                    self._check_send(consumer, message)
                    if consumer in self.machines:
                        self.machines[consumer].inbox.append(message)
                case CreateConsumer(consumer, settings):
                    machine = self.machines.setdefault(consumer, Machine(settings=settings.fingerprint))
                    if machine.leaving:
                        self.waiting.append(PlatformRefused(consumer, "create", "it is still leaving"))
                case DeleteConsumer(consumer):
                    self._check_delete(consumer)
                    if consumer in self.machines:
                        self.machines[consumer].leaving = True
                case RestartConsumer(consumer, settings):
                    if consumer in self.machines and not self.machines[consumer].leaving:
                        self._restart(consumer, settings)
                    else:
                        self.waiting.append(PlatformRefused(consumer, "restart", "it is not there, or leaving"))
                case ListConsumers():
                    self.is_list_due = True
                case _:
                    pass
        assert self.state.stage is stage
        assert (self.state.target is not None) == (stage is Stage.MANAGE)

    def listed(self) -> Iterator[Listed]:
        for consumer, machine in sorted(self.machines.items()):
            yield Listed(consumer, machine.leaving, machine.settings)

    def _restart(self, consumer: ConsumerId, settings: ConsumerSettings) -> None:
        """The process ends, on SIGTERM or by force."""
        if len(self.records) % 2:
            self.end(consumer)
        machine = self.machines[consumer]
        machine.incarnation, machine.settings = None, settings.fingerprint

    def _check_phases(self, before: State) -> None:
        assert list(self.state.consumers) == sorted(self.state.consumers)
        for consumer in self.state.consumers.keys() | before.consumers.keys():
            old, new = before.consumers.get(consumer), self.state.consumers.get(consumer)
            was, is_ = old and old.phase, new and new.phase
            direct = was is is_ or (was, is_) in PHASES
            by_way = any((was, phase) in PHASES and (phase, is_) in PHASES for phase in (*Phase, None))
            assert direct or by_way, f"consumer {consumer} went from {was} to {is_}"

    def _check_send(self, consumer: ConsumerId, message: Command | StateQuery) -> None:
        if isinstance(message, StateQuery):
            return
        sent_before = self.commands.setdefault((consumer, message.incarnation), {})
        if message.sequence in sent_before:
            assert message == sent_before[message.sequence], "a number is given to another command"
        else:
            assert message.sequence > max(sent_before, default=0), "sequences grow"
            sent_before[message.sequence] = message
        if isinstance(message, StartConsumingCommand):
            for partition in message.partitions:
                for other, machine in self.machines.items():
                    if other != consumer and machine.may_read(partition):
                        view = self.state.consumers.get(other)
                        given_up = view is not None and view.phase is Phase.LOST
                        protected = message.topics[partition.topic].refuses_late_writes
                        assert given_up, f"{partition} starts on {consumer} while {other} may read it"
                        assert protected, f"{partition} starts on {consumer}; the late writes of {other} would be taken"

    def _check_delete(self, consumer: ConsumerId) -> None:
        if self.state.consumers[consumer].phase is not Phase.LOST and consumer in self.machines:
            machine = self.machines[consumer]
            assert not machine.volume.held, f"{consumer} is deleted with {machine.volume.held}"

    # Actions: what may happen next.

    def tick(self, seconds: float, listening: bool = True) -> None:
        self.now_s += seconds
        self.happens(ClockTicked(self.now_s, listening))

    def measure(self, speeds: Speeds | None = None) -> None:
        if speeds is not None:
            self.speeds = speeds
        self.measurements += 1
        self.happens(SpeedsMeasured(f"2026-03-01T12:00:{self.measurements:09}Z", self.speeds))

    def update(self, update: ServiceUpdate) -> None:
        self.updates.append(update)
        self.happens(ServiceChanged(update))

    def platform_tells(self) -> None:
        """Delivers the requested list, then the changes: so late that both may report the same."""
        changes, self.waiting = self.waiting, []
        if self.is_list_due:
            self.is_list_due = False
            self.happens(ConsumersListed(tuple(self.listed())))
        for change in changes:
            self.happens(change)

    def read(self) -> None:
        """The controller reads its next record."""
        if self.read_to < len(self.records):
            message = self.records[self.read_to]
            self.read_to += 1
            if message is not None:
                self.happens(Received((Heard(self.read_to - 1, message),)))

    def boot(self, consumer: ConsumerId) -> None:
        """A process starts, on its volume."""
        machine = self.machines[consumer]
        if machine.incarnation is None:
            volume = machine.volume
            held = tuple(sorted(volume.held))
            machine.incarnation = len(self.records)
            machine.inbox.clear()  # it listens from the end on
            machine.answers.clear()
            self.records.append(ConsumerReady(consumer, not held, held, volume.definitions, SortedMapping()))

    def crash(self, consumer: ConsumerId, with_volume: bool = False) -> None:
        machine = self.machines[consumer]
        machine.incarnation = None
        if with_volume:
            machine.volume = Volume()
        self.waiting.append(ConsumerFailing(consumer, "it fell"))

    def end(self, consumer: ConsumerId) -> None:
        """The process ends on request; a leaving consumer is gone then."""
        machine = self.machines[consumer]
        if machine.incarnation is not None and machine.volume.held:
            at = SortedMapping[TopicPartition, int | None](machine.volume.held)
            self.records.append(StopConsumingEvent(consumer, machine.incarnation, 0, None, at))
            machine.volume = Volume()
        machine.incarnation = None
        if machine.leaving:
            self.vanish(consumer)

    def vanish(self, consumer: ConsumerId) -> None:
        """The consumer vanishes without a message."""
        del self.machines[consumer]
        self.waiting.append(ConsumerGone(consumer))

    def report(self, consumer: ConsumerId) -> None:
        machine = self.machines[consumer]
        if machine.incarnation is not None:
            lag: Offsets = SortedMapping(dict.fromkeys(machine.volume.held, 3))
            definitions = machine.volume.definitions
            self.records.append(
                ConsumerReport(consumer, machine.incarnation, lag, definitions, 1.0, 10.0, False, 0.5, 0.5)
            )

    def obey(self, consumer: ConsumerId, refuse: bool = False) -> None:
        """The process reads its next message."""
        machine = self.machines[consumer]
        if machine.incarnation is not None and machine.inbox:
            message = machine.inbox.pop(0)
            if isinstance(message, StateQuery):
                volume, head = machine.volume, (consumer, machine.incarnation, message.epoch, message.query)
                held: Offsets = SortedMapping(volume.held)
                self.records.append(StateQueryResponse(*head, held, volume.definitions, 0))
            elif message.incarnation == machine.incarnation:
                number = (message.epoch, message.sequence)
                if number not in machine.answers:
                    machine.answers[number] = self._obeyed(consumer, machine, message, refuse)
                self.records.append(machine.answers[number])

    def _obeyed(self, consumer: ConsumerId, machine: Machine, message: Command, refuse: bool) -> FromConsumer:
        volume = machine.volume
        head = (consumer, message.incarnation, message.epoch, message.sequence)
        match message:
            case StopConsumingCommand():
                at = {partition: volume.held.pop(partition, None) for partition in message.partitions}
                return StopConsumingEvent(*head, SortedMapping(at))
            case StartConsumingCommand():
                new = [partition for partition in message.partitions if partition not in volume.held]
                if refuse and len(new) == len(message.partitions):
                    return ConsumingRefused(*head, tuple(new), "table", "no such table")
                for topic, digest in volume.definitions.items():
                    if topic in message.topics:
                        assert message.topics[topic].digest == digest, f"two definitions of {topic} on {consumer}"
                volume.topics |= message.topics
                for partition in new:
                    volume.held[partition] = self.offset_of[partition] = self.offset_of.get(partition, 0) + 1
                return StartConsumingEvent(*head, SortedMapping({p: volume.held[p] for p in message.partitions}))

    # Afterwards.

    def goes_on_without_faults(self) -> None:
        """Runs until the group is at rest, in steps of five seconds: all consumers obey and report, and are read."""
        for _ in range(500):
            self.tick(5.0)
            self.measure()
            for consumer in sorted(self.machines):
                if self.machines[consumer].leaving:
                    self.end(consumer)
                else:
                    self.boot(consumer)
                    while self.machines[consumer].inbox:
                        self.obey(consumer)
                    self.report(consumer)
            self._deliver_all()
            if self.is_settled():
                return
        raise AssertionError(f"it does not settle: {self.state}")

    def _deliver_all(self) -> None:
        self.platform_tells()
        while self.read_to < len(self.records):
            self.read()

    def is_settled(self) -> bool:
        """Each consumed partition is read by one process, by its current definition, and no other partition is read;
        and all consumers run with the current settings."""
        reading = [(p, m.volume.topics[p.topic]) for m in self.machines.values() for p in m.volume.held]
        services = ((partition, self.state.service_of(partition.topic)) for partition in self.speeds)
        wanted = [(partition, service) for partition, service in services if service is not None]
        by_name: Callable[[tuple[TopicPartition, TopicService]], TopicPartition] = lambda pair: pair[0]  # noqa: E731
        return (
            self.state.stage is Stage.SENTINEL
            and sorted(reading, key=by_name) == sorted(wanted, key=by_name)
            and not any(machine.inbox for machine in self.machines.values())
            and all(machine.settings == self.state.fingerprint for machine in self.machines.values())
        )
