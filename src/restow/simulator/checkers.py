"""What must never happen, one checker per property. Checkers watch the world itself, not what a controller assumes.
The numbers are those of the properties in docs/simulator.md.

OneReader          1     a consumer is commanded to start a partition, or starts it, while another may still read it
TakenOnce          1, 2  a table that knows its offsets skips one, or stores it twice
NothingLost        2, 3  a record is lost
Progress           4     the group does not recover after the faults
Bounded            4     unanswered commands pile up
LeastKept          4     a late consumer is deleted, and the group then has too few (group_size.py)
OneRolls           4     a roll pauses or loses more than one consumer, or leaves one with outdated settings (rolls.py)
PinsHold           4     a plan moves a pinned partition, or a pin ends too early or too late (granted.py)
RestartedOnce      4     a restart that a person asked for happens twice, or never (granted.py)
ClosedLate         4     a consumer is closed that was needed minutes ago (closings.py)
OpenedAhead        4     more than one consumer is opened for a prediction (closings.py)
Held               4     something is done for load while people hold the group (holds.py)
OneInCharge        4     a controller that gives signs of life is fenced, or controllers alternate
OnlyValidCommands  5     a stale or repeated command changes what is read, or a consumer reads what it has lost
OnlyIntended       5     a controller changes the platform without a committed intention
OnlyMeasured       5     a bad measurement is believed
OnlyOurs           5     another group's message is read as this group's
OnlyGranted        4, 5  a consumer resumes after a crash what it was not granted, or nothing at all (crashes.py)
PoisonStays        4     a partition that kills its readers is handed to another consumer (crashes.py)
LearnsWithinBounds 5     a learned capacity leaves its bounds, rises at once, or comes from cold cycles (learning.py)

`Watch` is what the processes call; it passes each call on to the checkers concerned.
"""

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Final

from restow.consumer.effects import ChangeAssignment, RunCycle
from restow.controller.effects import Effect
from restow.controller.state import State
from restow.controller.stuck import STUCK
from restow.controller.transitions import Phase, Stage
from restow.model import ConsumerId, TopicPartition
from restow.platform.interface import PlatformRequest
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery
from restow.protocol.messages.controller_events import PlatformChangeIntended
from restow.protocol.messages.unions import Command, OfController
from restow.protocol.topic_service import TopicService
from restow.simulator.closings import ClosedLate, OpenedAhead, closing_takes_s
from restow.simulator.crashes import OnlyGranted, PoisonStays
from restow.simulator.granted import PinsHold, RestartedOnce
from restow.simulator.group_size import LeastKept
from restow.simulator.holds import Held
from restow.simulator.learning import LearnsWithinBounds
from restow.simulator.rolls import OneRolls
from restow.simulator.schedules import OnSchedule
from restow.simulator.topics import MARKER, Topic
from restow.simulator.wire import Intruder, Measured

if TYPE_CHECKING:
    from restow.simulator.consumer import ConsumerProcess
    from restow.simulator.controller import ControllerProcess
    from restow.simulator.world import World

Report = Callable[[int, str], None]
"""Reports a violation: the number of the property, and what happened."""
MOST_UNANSWERED: Final = 100
LATE_S: Final = 90.0
"""Whatever takes longer is no longer merely in progress."""
ONE_LOOK_S: Final = 2.5
"""A standby looks every second, or as soon as its own pause is over."""


class Runaway(Exception):
    """The run can't recover, and is ended."""


class OneReader:
    """Four consumers are excused: one that was given up by forced handover, because its table refuses its writes; one
    that resumed what it claims because no controller has answered, for the same reason; one that the platform has
    reported gone, because then the platform was wrong; and one that hung where the group was before it moved, and
    counts as ended."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self.readers: dict[TopicPartition, list[ConsumerProcess]] = {}
        self._given_up: set[tuple[ConsumerId, TopicPartition]] = set()
        self._unsaved: dict[ConsumerId, set[TopicPartition]] = {}
        """Partitions that a consumer's process released, while its checkpoint still has them: a crash before the next
        one is written brings them back."""

    def ready(self, process: "ConsumerProcess") -> None:
        kept = _saved(process)
        self._given_up = {mark for mark in self._given_up if mark[0] != process.number or mark[1] in kept}
        self._unsaved.pop(process.number, None)

    def saved(self, process: "ConsumerProcess") -> None:
        unsaved = self._unsaved.get(process.number)
        if not unsaved:
            return
        kept = _saved(process)
        gone = {partition for partition in unsaved if partition not in kept}
        self._given_up -= {(process.number, partition) for partition in gone}
        unsaved -= gone

    def started(self, controller: "ControllerProcess", consumer: ConsumerId, command: StartConsumingCommand) -> None:
        lost = [number for number, view in controller.state.consumers.items() if view.phase is Phase.LOST]
        mistaken = _mistaken_for(controller)
        for partition in command.partitions:
            self._given_up.update((number, partition) for number in mistaken)
            if command.topics[partition.topic].refuses_late_writes:
                self._given_up.update((number, partition) for number in lost)
            for other in self.readers.get(partition, ()):
                # A command that is sent again may be older than the consumer's process, which then ignores it.
                is_meant = other.number == consumer and (other.incarnation or 0) >= command.incarnation
                if not is_meant and not self._is_excused(other, partition):
                    self._report(
                        1, f"consumer {consumer} is commanded to start {partition}, which consumer {other.number} reads"
                    )

    def held(self, process: "ConsumerProcess", partition: TopicPartition) -> None:
        readers = self.readers.setdefault(partition, [])
        for other in readers:
            if not self._is_excused(other, partition) and not self._is_excused(process, partition):
                self._report(1, f"consumers {other.number} and {process.number} both read {partition}")
        readers.append(process)

    def resumed(self, process: "ConsumerProcess", partition: TopicPartition) -> None:
        """It starts what it claims, unasked."""
        self._given_up.add((process.number, partition))

    def released(self, process: "ConsumerProcess", partition: TopicPartition) -> None:
        self.readers[partition].remove(process)
        if process.is_alive and not process.is_disowned:  # another consumer has its number now
            self._unsaved.setdefault(process.number, set()).add(partition)
            self.saved(process)

    def _is_excused(self, process: "ConsumerProcess", partition: TopicPartition) -> bool:
        if process.is_foreign and process.has_seemed_ended:
            return True
        return process.is_disowned or (process.number, partition) in self._given_up


def _saved(process: "ConsumerProcess") -> Collection[TopicPartition]:
    """The partitions of its checkpoint."""
    return () if process.volume.saved is None else process.volume.saved.positions


def _mistaken_for(controller: "ControllerProcess") -> list[ConsumerId]:
    """Numbers for which a process answers that was reported gone, instead of the number's present consumer."""
    views = controller.state.consumers
    return [
        zombie.number
        for zombie in controller.world.disowned
        if zombie.number in views and views[zombie.number].incarnation == zombie.incarnation
    ]


class TakenOnce:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._next: dict[tuple[str, TopicPartition], int] = {}

    def stored(
        self, process: "ConsumerProcess", partition: TopicPartition, service: TopicService, first: int, following: int
    ) -> None:
        if service.refuses_late_writes:
            key = (service.table or "", partition)
            expected = self._next.get(key, first)
            if first != expected:
                what = "twice" if first < expected else "after a gap"
                self._report(
                    2, f"consumer {process.number} stored {partition} from {first} in {key[0]} {what} ({expected})"
                )
            self._next[key] = following


class NothingLost:
    """In every sink, also when a topic's table changes, a write begins where the last one ended, or before."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._reached: dict[TopicPartition, int] = {}

    def begun(self, partition: TopicPartition, service: TopicService, position: int) -> None:
        """A consumer reads the partition for the first time."""
        self._reached.setdefault(partition, position if service.start == "latest" else 0)

    def stored(
        self, process: "ConsumerProcess", partition: TopicPartition, service: TopicService, first: int, following: int
    ) -> None:
        reached = self._reached[partition]
        if first > reached:
            line = 2 if service.refuses_late_writes else 3
            self._report(
                line, f"consumer {process.number} stored {partition} from {first}: {reached} to {first} is lost"
            )
        if following > reached:
            self._reached[partition] = following


class OnlyValidCommands:
    """A consumer changes what it reads only by a command of the newest epoch to its incarnation, read for the first
    time; by its checkpoint, which it may only claim if its controllers answer claims; or because it shuts down."""

    def __init__(self, report: Report, granted: OnlyGranted, one_reader: OneReader) -> None:
        self._report, self._granted, self._one_reader = report, granted, one_reader
        self._words: dict[ConsumerProcess, dict[TopicPartition, str]] = {}
        self._epoch: dict[ConsumerProcess, int] = {}
        self._read: dict[ConsumerProcess, set[tuple[int, int]]] = {}

    def ready(self, process: "ConsumerProcess") -> None:
        saved = process.volume.saved
        resumes = saved is not None and not saved.will_claim
        self._words[process] = dict.fromkeys(saved.positions, "start") if saved is not None and resumes else {}
        self._granted.ready(process)
        self._epoch[process] = 0 if saved is None else saved.epoch
        self._read[process] = set()

    def commanded(self, process: "ConsumerProcess", command: Command) -> None:
        number = (command.epoch, command.sequence)
        is_meant = command.incarnation == process.incarnation and command.epoch >= self._epoch[process]
        if not is_meant or number in self._read[process]:
            return
        self._raise(process, command.epoch)
        self._read[process].add(number)
        word = "start" if isinstance(command, StartConsumingCommand) else "stop"
        self._words[process].update(dict.fromkeys(command.partitions, word))
        self._granted.heard(process, command)

    def queried(self, process: "ConsumerProcess", query: StateQuery) -> None:
        if query.epoch >= self._epoch[process]:
            self._granted.heard(process)
        self._raise(process, query.epoch)

    def changing(self, process: "ConsumerProcess", change: ChangeAssignment) -> None:
        words = self._words[process]
        for partition in change.start:
            if words.get(partition) == "start":
                continue
            if self._granted.may_resume(process, partition, change.topics[partition.topic]):
                self._one_reader.resumed(process, partition)
                process.world.coverage.claims.add("resumed")
            else:
                self._report(5, f"consumer {process.number} starts {partition} without a valid command")
        if process.state is not None and not process.state.ending:
            for partition in change.stop:
                if words.get(partition) != "stop" and partition not in change.start:
                    self._report(5, f"consumer {process.number} stops {partition} without a valid command")
        for partition in (*change.start, *change.stop):
            words.pop(partition, None)

    def reading(self, process: "ConsumerProcess", cycle: RunCycle) -> None:
        if cycle.positions.keys() <= process.positions.keys():
            return
        for partition in cycle.positions:
            if partition not in process.positions:
                self._report(1, f"consumer {process.number} goes on reading {partition}, which it has lost to another")
                raise Runaway

    def died(self, process: "ConsumerProcess") -> None:
        for known in (self._words, self._epoch, self._read):
            known.pop(process, None)
        self._granted.died(process)

    def _raise(self, process: "ConsumerProcess", epoch: int) -> None:
        """A new controller: commands of the one before that were not applied yet are void."""
        if epoch > self._epoch[process]:
            self._epoch[process] = epoch
            self._words[process].clear()
            self._granted.voided(process, () if process.state is None else process.state.waiting)


class OnlyIntended:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._intended: dict[ControllerProcess, list[PlatformChangeIntended]] = {}

    def intended(self, controller: "ControllerProcess", intention: PlatformChangeIntended) -> None:
        self._intended[controller] = [*self._intended.get(controller, [])[-8:], intention]

    def requested(self, controller: "ControllerProcess", request: PlatformRequest) -> None:
        intentions = self._intended.get(controller, ())
        if not any(request.consumer in (*each.create, *each.delete, *each.restart) for each in intentions):
            self._report(5, f"{type(request).__name__} of consumer {request.consumer} without a committed intention")


class OnlyMeasured:
    def __init__(self, report: Report) -> None:
        self._report = report

    def measured(self, record: Measured, before: State, after: State) -> None:
        known = before.measured
        if record.sent is not None and record.event.speeds != record.sent.speeds:
            self._report(5, f"the measurement of {record.sent.time} is not as the monitor sent it")
        if record.is_nonsense and after.measured is not known and not before.speeds_are_stale:
            self._report(5, f"a bad measurement of {record.event.time} is believed")
        fastest = after.rules.controller.fastest_partition_bytes_per_s
        if after.measured is None or after.measured is known:
            return
        for partition, speed in after.measured.speeds.items():
            if speed > fastest:
                self._report(5, f"{partition} is believed to be written at {speed:g} bytes/s")
        if known is not None and record.event.speeds.keys() != known.speeds.keys():
            for partition in known.speeds.keys() - after.measured.speeds.keys():
                if after.service_of(partition.topic) is not None:
                    self._report(5, f"{partition} was not measured and counts as idle")


class OnlyOurs:
    """A process that gets nothing from a record of another group can't change anything by it."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def opened(self, record: object, read: object) -> None:
        if isinstance(record, Intruder) and read is not None:
            self._report(5, f"a {type(read).__name__} of another group is read as this group's")


class OneInCharge:
    """A person may force it; and two that start at the same moment may not see each other."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def taking_over(self, controller: "ControllerProcess") -> None:
        world, now_s = controller.world, controller.now_s
        quiet_s = world.scenario.duration_s - world.scenario.quiet_s
        if now_s > quiet_s + LATE_S:
            self._report(4, f"{controller.name} takes over {now_s - quiet_s:.0f} s after the last fault")
        before = world.controller_in_charge()
        if before is None or controller.is_forced:
            return
        heard_s = self._last_sign_s(before, now_s - ONE_LOOK_S)
        silent_s, limit_s = now_s - heard_s, world.rules.controller.take_over_after_s
        if silent_s < limit_s - ONE_LOOK_S:
            self._report(4, f"{controller.name} fences {before.name}, which gave a sign of life {silent_s:.1f} s ago")

    def _last_sign_s(self, controller: "ControllerProcess", until_s: float) -> float:
        """When its last sign of life that could be read by then could be read."""
        wire, log = controller.world.wire, controller.world.kafka.log(Topic.CONTROLLER, 0)
        for offset in range(log.end - 1, (controller.epoch or 0) - 1, -1):
            if log.visible_s[offset] <= until_s and log.records[offset] is not MARKER:
                sign = wire.open(Topic.CONTROLLER, 0, offset, log.records[offset])
                if isinstance(sign, OfController):
                    return log.visible_s[offset]
        return -LATE_S


class Bounded:
    def __init__(self, report: Report) -> None:
        self._report = report

    def sent(self, controller: "ControllerProcess", consumer: ConsumerId) -> None:
        view = controller.state.consumers.get(consumer)
        if view is not None and len(view.sent) > MOST_UNANSWERED:
            self._report(4, f"consumer {consumer} has {len(view.sent)} unanswered commands, and gets more")
            raise Runaway


class Progress:
    """After the faults every consumed partition is read by one consumer, records are stored, backlogs shrink, no idle
    consumer is left, no topic is flagged as failing, and the controller comes to rest. In a group that people hold to
    the end, idle consumers and backlogs stay."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._rested_s = 0.0
        self._read_by_one_s: dict[TopicPartition, float] = {}
        self._reading_s: dict[ConsumerId, float] = {}
        self._behind: dict[TopicPartition, int] = {}

    def rested(self, now_s: float) -> None:
        """The controller was in Sentinel, if only for a moment: under a growing load it does not stay there."""
        self._rested_s = now_s

    def sample(self, world: "World") -> None:
        now_s = world.agenda.now_s
        controller = world.controller_in_charge()
        if controller is not None and controller.state.stage is Stage.SENTINEL:
            self.rested(now_s)
        busy: set[ConsumerId] = set()
        is_parked = controller is not None and controller.state.is_parked
        for partition in world.consumed():
            readers = [each for each in world.watch.readers(partition) if not each.is_frozen]
            if is_parked and not readers and not world.measures.waiting_records(partition, now_s):
                self._read_by_one_s[partition] = now_s  # nothing is left to read
            if len(readers) == 1 and len(world.watch.readers(partition)) == 1:
                self._read_by_one_s[partition] = now_s
            busy.update(reader.number for reader in readers)
        self._reading_s = {n: now_s if n in busy else self._reading_s.get(n, now_s) for n in world.platform.pods}

    def remember(self, world: "World") -> None:
        """The lag of each partition in the middle of the quiet period."""
        now_s = world.agenda.now_s
        self._behind = {each: world.measures.waiting_records(each, now_s) for each in world.consumed()}

    def end(self, world: "World") -> None:
        now_s, is_held = world.agenda.now_s, world.is_held
        if now_s - self._rested_s > LATE_S:
            self._report(4, f"the controller has not been in Sentinel for {now_s - self._rested_s:.0f} s")
        for partition in world.consumed():
            unread_s = now_s - self._read_by_one_s.get(partition, 0.0)
            if unread_s > LATE_S:
                readers = len(world.watch.readers(partition))
                self._report(4, f"{partition} has been read by {readers} consumers instead of one for {unread_s:.0f} s")
                continue
            if is_held:
                continue
            age_s = world.measures.waiting_s(partition, now_s)
            behind, before = world.measures.waiting_records(partition, now_s), self._behind.get(partition, 0)
            if age_s > LATE_S and behind >= before:
                self._report(4, f"{partition} lags by {behind} records and {age_s:.0f} s, and by {before} before")
        busy_s = [since_s for since_s in self._reading_s.values() if now_s - since_s < LATE_S]
        for consumer, since_s in sorted(self._reading_s.items()):
            spares = world.rules.controller.spares
            is_needed = len(self._reading_s) <= world.least_consumers + spares or is_held
            is_needed = is_needed or len(self._reading_s) - len(busy_s) <= spares
            if now_s - since_s > 2 * LATE_S + closing_takes_s(world.rules.controller) and not is_needed:
                self._report(4, f"consumer {consumer} has read nothing for {now_s - since_s:.0f} s and still exists")
        for process in world.processes:
            if process.is_alive and process.is_disowned:
                self._report(4, f"a process of consumer {process.number} still runs, unknown to the platform")
        controller = world.controller_in_charge()
        if controller is not None and STUCK in controller.state.flags:
            self._report(4, f"partitions are flagged as stuck: {controller.state.flags[STUCK]}")
        for partition in controller.state.failing if controller is not None else ():
            self._report(4, f"{partition} is flagged as failing, although its table can be written")


class Watch:
    def __init__(self, world: "World") -> None:
        self._world = world
        report = world.violated
        self.one_reader, self.taken_once, self.nothing_lost = OneReader(report), TakenOnce(report), NothingLost(report)
        self.only_granted, self.poison_stays = OnlyGranted(report), PoisonStays(report)
        self.only_valid, self.only_intended, self.only_measured = (
            OnlyValidCommands(report, self.only_granted, self.one_reader),
            OnlyIntended(report),
            OnlyMeasured(report),
        )
        self.only_ours = OnlyOurs(report)
        self.progress, self.bounded, self.one_rolls = Progress(report), Bounded(report), OneRolls(report)
        self.least_kept, self.holds = LeastKept(report), Held(report, world.windows.windows)
        self.one_in_charge = OneInCharge(report)
        self.learning = LearnsWithinBounds(report)
        self.on_schedule = OnSchedule(report, world.windows.windows)
        self.closed_late, self.opened_ahead = ClosedLate(report), OpenedAhead(report)
        self.pins_hold, self.restarted_once = PinsHold(report), RestartedOnce(report)

    def readers(self, partition: TopicPartition) -> "list[ConsumerProcess]":
        return self.one_reader.readers.get(partition, [])

    def ready(self, process: "ConsumerProcess") -> None:
        self.one_reader.ready(process)
        self.only_valid.ready(process)
        self.one_rolls.ready(process)

    def opened(self, record: object, read: object) -> None:
        self.only_ours.opened(record, read)

    def commanded(self, process: "ConsumerProcess", command: Command) -> None:
        self.only_valid.commanded(process, command)

    def queried(self, process: "ConsumerProcess", query: StateQuery) -> None:
        self.only_valid.queried(process, query)

    def changing(self, process: "ConsumerProcess", change: ChangeAssignment) -> None:
        self.only_valid.changing(process, change)

    def reading(self, process: "ConsumerProcess", cycle: RunCycle) -> None:
        self.only_valid.reading(process, cycle)

    def held(self, process: "ConsumerProcess", partition: TopicPartition, service: TopicService) -> None:
        world = self._world
        position = process.positions[partition]
        self.one_reader.held(process, partition)
        self.nothing_lost.begun(partition, service, position)
        world.measures.begun(world.data.index[partition], position, world.agenda.now_s)
        world.measures.held(partition, process.number, world.agenda.now_s)

    def saved(self, process: "ConsumerProcess") -> None:
        self.one_reader.saved(process)

    def released(self, process: "ConsumerProcess", partition: TopicPartition) -> None:
        self.one_reader.released(process, partition)
        if not self.readers(partition):
            self._world.measures.released(partition, self._world.agenda.now_s)

    def died(self, process: "ConsumerProcess") -> None:
        self.only_valid.died(process)

    def stored(
        self, process: "ConsumerProcess", partition: TopicPartition, service: TopicService, first: int, following: int
    ) -> None:
        self.taken_once.stored(process, partition, service, first, following)
        self.nothing_lost.stored(process, partition, service, first, following)

    def taking_over(self, controller: "ControllerProcess") -> None:
        self.one_in_charge.taking_over(controller)

    def started(self, controller: "ControllerProcess", consumer: ConsumerId, command: StartConsumingCommand) -> None:
        self.one_reader.started(controller, consumer, command)
        self.poison_stays.started(controller, consumer, command)

    def sent(self, controller: "ControllerProcess", consumer: ConsumerId) -> None:
        self.bounded.sent(controller, consumer)

    def intended(self, controller: "ControllerProcess", intention: PlatformChangeIntended) -> None:
        self.only_intended.intended(controller, intention)

    def requested(self, controller: "ControllerProcess", request: PlatformRequest) -> None:
        self.only_intended.requested(controller, request)
        self.one_rolls.requested(controller, request)
        self.least_kept.requested(controller, request)
        self.restarted_once.requested(controller, request)

    def measured(self, controller: "ControllerProcess", record: Measured, before: State) -> None:
        self.only_measured.measured(record, before, controller.state)

    def stepped(self, before: State, effects: Sequence[Effect], after: State) -> None:
        self.holds.stepped(before, effects, after)

    def decided(self, controller: "ControllerProcess", before: State, effects: Sequence[Effect], after: State) -> None:
        """Every step, also one without effects."""
        self.closed_late.stepped(controller, before, effects, after)
        self.opened_ahead.stepped(controller, before, effects, after)
        self.on_schedule.stepped(after)
