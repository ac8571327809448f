"""What each consumer reads and how fast partitions are written, rebuilt from the controller's events."""

from restow.controller.events import Event, Received, SpeedsMeasured
from restow.model import ConsumerId, TopicPartition
from restow.platform.interface import ConsumerGone
from restow.protocol.messages.consumer_events import (
    ConsumerReady,
    ConsumingRefused,
    StartConsumingEvent,
    StopConsumingEvent,
)
from restow.protocol.messages.unions import FromConsumer


class GroupView:
    def __init__(self) -> None:
        self.bytes_per_s = 0.0
        """Of all partitions together, as the monitor measured it."""
        self._held: dict[ConsumerId, set[TopicPartition]] = {}

    @property
    def held(self) -> dict[ConsumerId, frozenset[TopicPartition]]:
        """What each consumer reads, without idle consumers."""
        return {consumer: frozenset(held) for consumer, held in sorted(self._held.items()) if held}

    @property
    def idle(self) -> frozenset[ConsumerId]:
        """Consumers that are ready and read nothing."""
        return frozenset(consumer for consumer, held in self._held.items() if not held)

    @property
    def read(self) -> frozenset[TopicPartition]:
        return frozenset[TopicPartition]().union(*self._held.values())

    def apply(self, event: Event) -> None:
        match event:
            case SpeedsMeasured(_, speeds):
                self.bytes_per_s = sum(speeds.values())
            case ConsumerGone(consumer):
                self.remove(consumer)
            case Received(records):
                for record in records:
                    self._apply_message(record.message)
            case _:
                pass

    def _apply_message(self, message: FromConsumer) -> None:
        match message:
            case ConsumerReady():
                self._held[message.consumer] = set(message.partitions)
            case StartConsumingEvent():
                self._held.setdefault(message.consumer, set()).update(message.partitions)
            case StopConsumingEvent() | ConsumingRefused():
                self._held.setdefault(message.consumer, set()).difference_update(message.partitions)
            case _:
                pass

    def remove(self, consumer: ConsumerId) -> None:
        """The consumer reads nothing until it reports that it is ready."""
        self._held.pop(consumer, None)
