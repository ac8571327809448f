"""`Watch` is what the simulated processes call; it passes each call on to the checkers concerned."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from restow.consumer.effects import ChangeAssignment, RunCycle
from restow.controller.effects import Effect
from restow.controller.state import State
from restow.model import ConsumerId, TopicPartition
from restow.platform.interface import PlatformRequest
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery
from restow.protocol.messages.controller_events import PlatformChangeIntended
from restow.protocol.messages.unions import Command
from restow.protocol.topic_service import TopicService
from restow.simulator.checkers.closings import ClosedLate, OpenedAhead
from restow.simulator.checkers.commands import OnlyValidCommands
from restow.simulator.checkers.crashes import OnlyGranted, PoisonStays, UnprotectedWaits
from restow.simulator.checkers.granted import PinsHold, RestartedOnce
from restow.simulator.checkers.group_size import LeastKept
from restow.simulator.checkers.holds import Held
from restow.simulator.checkers.in_charge import OneInCharge, OnlyIntended
from restow.simulator.checkers.inputs import OnlyMeasured, OnlyOurs
from restow.simulator.checkers.learning import LearnsWithinBounds
from restow.simulator.checkers.one_reader import OneReader
from restow.simulator.checkers.progress import Bounded, Progress
from restow.simulator.checkers.rolls import OneRolls
from restow.simulator.checkers.schedules import OnSchedule
from restow.simulator.checkers.stored import NothingLost, TakenOnce
from restow.simulator.wire import Measured

if TYPE_CHECKING:
    from restow.simulator.consumer import ConsumerProcess
    from restow.simulator.controller import ControllerProcess
    from restow.simulator.world import World


class Watch:
    def __init__(self, world: "World") -> None:
        self._world = world
        report = world.violated
        self.one_reader, self.taken_once, self.nothing_lost = OneReader(report), TakenOnce(report), NothingLost(report)
        self.only_granted, self.poison_stays = OnlyGranted(report), PoisonStays(report)
        self.unprotected_waits = UnprotectedWaits(report)
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
        self.unprotected_waits.stepped(controller, before, effects, after)
        self.on_schedule.stepped(after)
