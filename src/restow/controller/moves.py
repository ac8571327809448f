"""Moves of partitions and their pauses, from the controller's events. Metrics and the demo count them."""

from dataclasses import dataclass

from restow.controller.events import ClockTicked, Event, Received
from restow.model import ConsumerId, TopicPartition
from restow.protocol.messages.consumer_events import StartConsumingEvent, StopConsumingEvent
from restow.protocol.messages.unions import FromConsumer


@dataclass(frozen=True, slots=True)
class Moves:
    count: int = 0
    """Partitions that were started by another consumer than before."""
    pauses_s: tuple[float, ...] = ()
    """One for each start that followed a stop: the time between the controller's receipt of the stop and of the
    start."""


class MoveTracker:
    def __init__(self) -> None:
        self._now_s = 0.0
        self._owner: dict[TopicPartition, ConsumerId] = {}
        self._stopped_s: dict[TopicPartition, float] = {}

    def apply(self, event: Event) -> Moves:
        """The moves that this event ends."""
        match event:
            case ClockTicked(now_s):
                self._now_s = now_s
                return Moves()
            case Received(records):
                each = [self._heard(record.message) for record in records]
                return Moves(sum(moves.count for moves in each), tuple(s for moves in each for s in moves.pauses_s))
            case _:
                return Moves()

    def _heard(self, message: FromConsumer) -> Moves:
        match message:
            case StopConsumingEvent():
                self._stopped_s |= dict.fromkeys(message.partitions, self._now_s)
                return Moves()
            case StartConsumingEvent():
                count, pauses_s = 0, []
                for partition in message.partitions:
                    count += self._owner.get(partition, message.consumer) != message.consumer
                    self._owner[partition] = message.consumer
                    if partition in self._stopped_s:
                        pauses_s.append(self._now_s - self._stopped_s.pop(partition))
                return Moves(count, tuple(pauses_s))
            case _:
                return Moves()
