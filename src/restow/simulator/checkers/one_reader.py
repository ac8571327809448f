"""The checker of property 1: no two consumers read one partition."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from restow.controller.state import View
from restow.controller.transitions import Phase
from restow.model import ConsumerId, TopicPartition
from restow.protocol.messages.commands import StartConsumingCommand
from restow.simulator.checkers.report import Report

if TYPE_CHECKING:
    from restow.simulator.consumer import ConsumerProcess
    from restow.simulator.controller import ControllerProcess


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
        self._views: Mapping[ConsumerId, View] = {}
        """As they were at the last Start."""
        self._lost: list[ConsumerId] = []

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
        views = controller.state.consumers
        if views is not self._views:  # one step may command a thousand consumers
            self._views = views
            self._lost = [number for number, view in views.items() if view.phase is Phase.LOST]
        lost = self._lost
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
    return () if process.volume.saved is None else process.volume.saved.positions.keys()


def _mistaken_for(controller: "ControllerProcess") -> list[ConsumerId]:
    """Numbers for which a process answers that was reported gone, instead of the number's present consumer."""
    views = controller.state.consumers
    return [
        zombie.number
        for zombie in controller.world.disowned
        if zombie.number in views and views[zombie.number].incarnation == zombie.incarnation
    ]
