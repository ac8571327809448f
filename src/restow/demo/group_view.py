"""Who reads what, and how fast all is written: the group as its consumers and its monitor told the controller."""

from restow.controller.events import Event, Received, SpeedsMeasured
from restow.model import ConsumerId, TopicPartition
from restow.platform.interface import ConsumerGone
from restow.protocol.messages import (
    ConsumerReady,
    ConsumingRefused,
    FromConsumer,
    StartConsumingEvent,
    StopConsumingEvent,
)


class Picture:
    def __init__(self) -> None:
        self.bytes_per_s = 0.0
        """Of all partitions, by the monitor."""
        self._held: dict[ConsumerId, set[TopicPartition]] = {}

    @property
    def held(self) -> dict[ConsumerId, frozenset[TopicPartition]]:
        """What each consumer that is at work reads."""
        return {consumer: frozenset(held) for consumer, held in sorted(self._held.items()) if held}

    @property
    def read(self) -> frozenset[TopicPartition]:
        return frozenset[TopicPartition]().union(*self._held.values())

    def see(self, event: Event) -> None:
        match event:
            case SpeedsMeasured(_, speeds):
                self.bytes_per_s = sum(speeds.values())
            case ConsumerGone(consumer):
                self.lose(consumer)
            case Received(heard):
                for record in heard:
                    self._hear(record.message)
            case _:
                pass

    def _hear(self, message: FromConsumer) -> None:
        match message:
            case ConsumerReady():
                self._held[message.consumer] = set(message.partitions)
            case StartConsumingEvent():
                self._held.setdefault(message.consumer, set()).update(message.partitions)
            case StopConsumingEvent() | ConsumingRefused():
                self._held.setdefault(message.consumer, set()).difference_update(message.partitions)
            case _:
                pass

    def lose(self, consumer: ConsumerId) -> None:
        """It was killed: until it says that it is ready again, it reads nothing."""
        self._held.pop(consumer, None)
