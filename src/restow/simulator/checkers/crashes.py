"""The checkers of what follows a crash. OnlyGranted: a consumer resumes nothing unasked, unless no controller has
answered for long and the table refuses late writes. HealsAlone: it does resume that. PoisonStays: a partition that has
killed its readers again and again, always at the same offset, is handed to no other consumer. UnprotectedWaits: no
other consumer takes over what the crashed one may still write, because its table would take it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from restow.controller.effects import Effect, Send
from restow.controller.state import State
from restow.controller.transitions import Phase
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.messages.commands import StartConsumingCommand
from restow.protocol.messages.unions import Command
from restow.protocol.topic_service import TopicService
from restow.simulator.consumer import BROKEN_TRANSFORM
from restow.simulator.platform import Pod

if TYPE_CHECKING:
    from restow.simulator.consumer import ConsumerProcess
    from restow.simulator.controller import ControllerProcess
    from restow.simulator.world import World

DEATHS: Final = 3
"""The machine needs two; a third leaves room for a crash that no controller has seen."""
WITHIN_S: Final = 500.0
"""Shorter than the machine's ten minutes, which count listened seconds."""
SLOW_S: Final = 60.0
"""Beyond `resume_after_s`: a cycle has to end first, and the brokers may be down."""


@dataclass(slots=True)
class Claimed:
    """What a process has claimed."""

    partitions: set[TopicPartition]
    heard_s: float
    """When it became ready, or last read something of a controller."""
    waits_from_s: float = 0.0
    """Until then it hung, or the brokers were down."""
    services: SortedMapping[str, TopicService] = field(default_factory=SortedMapping)
    answered: dict[TopicPartition, Command | None] = field(default_factory=dict)
    """What was claimed, and the command that answered it."""


class OnlyGranted:
    def __init__(self, report: Callable[[int, str], None]) -> None:
        self._report = report
        self._claimed: dict[ConsumerProcess, Claimed] = {}

    def ready(self, process: "ConsumerProcess") -> None:
        saved = process.volume.saved
        if saved is not None and saved.will_claim and saved.positions:
            self._claimed[process] = Claimed(set(saved.positions), process.now_s, services=saved.topics)

    def heard(self, process: "ConsumerProcess", command: Command | None = None) -> None:
        """It has read a valid command, or a query."""
        if (claimed := self._claimed.get(process)) is not None:
            claimed.heard_s = process.now_s
            for partition in claimed.partitions.intersection(command.partitions if command is not None else ()):
                claimed.partitions.discard(partition)
                claimed.answered[partition] = command

    def carried_out(self, process: "ConsumerProcess", command: Command) -> None:
        """It has read a command again that it carried out before: when this copy becomes void, no claim comes back."""
        if (claimed := self._claimed.get(process)) is not None:
            claimed.answered = {p: answer for p, answer in claimed.answered.items() if answer != command}

    def voided(self, process: "ConsumerProcess", waiting: tuple[Command, ...]) -> None:
        """It has heard of a newer controller before it carried these commands out: what they answered is claimed."""
        if (claimed := self._claimed.get(process)) is not None:
            claimed.partitions.update(each for each, command in claimed.answered.items() if command in waiting)

    def may_resume(self, process: "ConsumerProcess", partition: TopicPartition, service: TopicService) -> bool:
        """Whether it may start the partition without a command."""
        claimed = self._claimed.get(process)
        if claimed is None or partition not in claimed.partitions or not service.refuses_late_writes:
            return False
        waited_s = process.now_s - claimed.heard_s
        claimed.partitions.discard(partition)
        return waited_s >= process.world.scenario.consumer.resume_after_s

    def died(self, process: "ConsumerProcess") -> None:
        self._claimed.pop(process, None)

    def sample(self, world: "World") -> None:
        """Whether a claim waits for far too long. The controller answers it, or the consumer resumes it."""
        limit_s = world.scenario.consumer.resume_after_s + SLOW_S
        for process, claimed in self._claimed.items():
            claimed.waits_from_s = max(claimed.waits_from_s, process.frozen_until_s, world.kafka.down_until_s)
            if process.should_end:
                continue
            waits = sorted(p for p in claimed.partitions if claimed.services[p.topic].refuses_late_writes)
            if waits and world.agenda.now_s - max(claimed.heard_s, claimed.waits_from_s) > limit_s:
                self._report(4, f"consumer {process.number} neither gets nor resumes {waits[0]}, which it claims")
                claimed.partitions.clear()


@dataclass(frozen=True, slots=True)
class Death:
    time_s: float
    consumer: ConsumerId
    offset: int
    """The partition's next offset then."""
    pod: Pod | None
    """A later consumer may have the same number."""


class PoisonStays:
    def __init__(self, report: Callable[[int, str], None]) -> None:
        self._report = report
        self._deaths: dict[TopicPartition, list[Death]] = {}

    def died(self, process: "ConsumerProcess", partition: TopicPartition, offset: int) -> None:
        """No controller in charge hears of a crash on the platform that the group has left, nor of the crash of a
        process that was reported gone."""
        if process.is_foreign or process.is_disowned:
            return
        self._deaths.setdefault(partition, []).append(
            Death(process.now_s, process.number, offset, process.platform.pods.get(process.number))
        )

    def started(self, controller: "ControllerProcess", consumer: ConsumerId, command: StartConsumingCommand) -> None:
        for partition in command.partitions:
            if command.topics[partition.topic].transform == BROKEN_TRANSFORM:
                self._deaths.pop(partition, None)  # every consumer refuses it unread: whoever is asked next is open
            last = self._deaths.get(partition, [])[-DEATHS:]
            _, until_s = controller.world.poison.get(partition, (0, 0.0))
            if len(last) == DEATHS and controller.now_s < until_s and self._is_known(controller, last):
                owner = last[-1].consumer
                view = controller.state.consumers.get(owner)
                is_there = view is not None and view.phase not in (Phase.LEAVING, Phase.LOST)
                if consumer != owner and is_there and controller.world.platform.pods.get(owner) is last[-1].pod:
                    self._report(4, f"{partition} has killed {DEATHS} processes, and consumer {consumer} gets it")

    def _is_known(self, controller: "ControllerProcess", deaths: list[Death]) -> bool:
        """Whether all deaths were at one offset, within minutes, and under this controller."""
        took_over_s = controller.took_over_s
        is_recent = controller.now_s - deaths[0].time_s < WITHIN_S and deaths[0].time_s > took_over_s + SLOW_S
        return is_recent and len({death.offset for death in deaths}) == 1


class UnprotectedWaits:
    def __init__(self, report: Callable[[int, str], None]) -> None:
        self._report = report
        self._left: dict[tuple[ControllerProcess, ConsumerId], frozenset[TopicPartition]] = {}
        """What each crashed consumer held in tables that accept late writes, until it is back, is given up, or its last
        answer arrives."""

    def stepped(self, controller: "ControllerProcess", before: State, effects: Sequence[Effect], after: State) -> None:
        if before.consumers is not after.consumers:
            self._learn(controller, before, after)
        for effect in effects if self._left else ():
            match effect:
                case Send(consumer, StartConsumingCommand(partitions=partitions)):
                    self._check(controller, consumer, after, partitions)
                case _:
                    pass

    def _learn(self, controller: "ControllerProcess", before: State, after: State) -> None:
        for consumer, view in after.consumers.items():
            was = before.consumers.get(consumer)
            if was is view:
                continue
            if view.phase is not Phase.CRASHED:
                self._left.pop((controller, consumer), None)
            elif was is not None and was.phase is not Phase.CRASHED:
                unprotected = (p for p in was.may_hold if not before.refuses_late_writes(p.topic))
                self._left[controller, consumer] = frozenset(unprotected)
            elif was is not None and was.held - view.held:  # it had stopped them before its end
                self._left[controller, consumer] -= was.held - view.held

    def _check(
        self, controller: "ControllerProcess", consumer: ConsumerId, state: State, partitions: Iterable[TopicPartition]
    ) -> None:
        for (whose, crashed), left in self._left.items():
            taken = sorted(left.intersection(partitions))
            if whose is controller and crashed != consumer and crashed in state.consumers and taken:
                self._report(1, f"consumer {consumer} gets {taken[0]}, which the crashed consumer {crashed} may write")
