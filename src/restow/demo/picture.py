"""Who reads what, and how fast all is written: the group as its consumers and its monitor told the controller."""

from restow.controller.events import Event, Received, SpeedsMeasured
from restow.model import ConsumerId, TopicPartition
from restow.platform.interface import ConsumerGone
from restow.protocol.messages import ConsumerReady, ConsumingRefused, StartConsumingEvent, StopConsumingEvent


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
            case Received(_, ConsumerReady() as ready):
                self._held[ready.consumer] = set(ready.partitions)
            case Received(_, StartConsumingEvent() as started):
                self._held.setdefault(started.consumer, set()).update(started.partitions)
            case Received(_, StopConsumingEvent() | ConsumingRefused() as ended):
                self._held.setdefault(ended.consumer, set()).difference_update(ended.partitions)
            case _:
                pass

    def lose(self, consumer: ConsumerId) -> None:
        """It was killed: until it says that it is ready again, it reads nothing."""
        self._held.pop(consumer, None)
