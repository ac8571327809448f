"""What the controller's event log says of moves: how many there were, and how long nobody read a partition."""

from collections.abc import Iterable
from dataclasses import dataclass

from restow.controller.event_log import replay
from restow.controller.events import Received
from restow.model import ConsumerId, TopicPartition
from restow.protocol.messages import StartConsumingEvent, StopConsumingEvent


@dataclass(frozen=True, slots=True)
class Moves:
    count: int
    pauses_s: tuple[float, ...]
    """Ascending, one for each move that began with a stop."""


def moves_in(lines: Iterable[str]) -> Moves:
    count = 0
    pauses: list[float] = []
    owner: dict[TopicPartition, ConsumerId] = {}
    stopped: dict[TopicPartition, float] = {}
    for step in replay(lines):
        message = step.event.message if isinstance(step.event, Received) else None
        if isinstance(message, StopConsumingEvent):
            stopped |= dict.fromkeys(message.partitions, step.after.time_s)
        elif isinstance(message, StartConsumingEvent):
            for partition in message.partitions:
                count += owner.get(partition, message.consumer) != message.consumer
                owner[partition] = message.consumer
                if partition in stopped:
                    pauses.append(step.after.time_s - stopped.pop(partition))
    return Moves(count, tuple(sorted(pauses)))
