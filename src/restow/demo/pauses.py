"""Moves of partitions and their pauses, from the controller's event log."""

from collections.abc import Iterable
from dataclasses import dataclass

from restow.controller.events import ClockTicked, Event, Received
from restow.controller.log_reader import entries
from restow.model import ConsumerId, TopicPartition
from restow.protocol.messages import FromConsumer, StartConsumingEvent, StopConsumingEvent


@dataclass(frozen=True, slots=True)
class Moves:
    count: int
    pauses_s: tuple[float, ...]
    """Ascending. One for each move that began with a stop: the time between the controller's receipt of the stop and of
    the start elsewhere."""


def moves_in(lines: Iterable[str]) -> Moves:
    counter = MoveCounter()
    for entry in entries(lines):
        counter.apply(entry.event)
    return counter.moves


class MoveCounter:
    def __init__(self) -> None:
        self._count = 0
        self._pauses_s: list[float] = []
        self._now_s = 0.0
        self._owner: dict[TopicPartition, ConsumerId] = {}
        self._stopped_s: dict[TopicPartition, float] = {}

    @property
    def moves(self) -> Moves:
        return Moves(self._count, tuple(sorted(self._pauses_s)))

    def apply(self, event: Event) -> None:
        match event:
            case ClockTicked(now_s):
                self._now_s = now_s
            case Received(records):
                for record in records:
                    self._apply_message(record.message)
            case _:
                pass

    def _apply_message(self, message: FromConsumer) -> None:
        match message:
            case StopConsumingEvent():
                self._stopped_s |= dict.fromkeys(message.partitions, self._now_s)
            case StartConsumingEvent():
                for partition in message.partitions:
                    self._started(partition, message.consumer)
            case _:
                pass

    def _started(self, partition: TopicPartition, consumer: ConsumerId) -> None:
        self._count += self._owner.get(partition, consumer) != consumer
        self._owner[partition] = consumer
        if partition in self._stopped_s:
            self._pauses_s.append(self._now_s - self._stopped_s.pop(partition))
