"""What people want of the group beside its topics and settings, and what became of each record of the service topic.

The types are part of the controller's state; services.py changes them.
"""

from dataclasses import dataclass, field, replace
from typing import Final

from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.messages.desired import ConsumerRestart, GroupPause, PartitionPin, RecommendOnly

MOST_ANSWERS: Final = 20
TAKEN: Final = "taken"


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one record of the service topic."""

    offset: int
    """The record's."""
    taken: bool
    """False: refused."""
    words: str
    """For the person who wrote it."""


@dataclass(frozen=True, slots=True)
class Desired:
    """The newest record of each key, as long as it is not the default."""

    pause: GroupPause | None = None
    recommend: RecommendOnly | None = None
    restarts: SortedMapping[ConsumerId, ConsumerRestart] = field(default_factory=SortedMapping)
    pins: SortedMapping[TopicPartition, PartitionPin] = field(default_factory=SortedMapping)
    """Without those that were refused or have ended (pins.py)."""
    unjudged: SortedMapping[TopicPartition, int | None] = field(default_factory=SortedMapping)
    """The pins among them that were neither taken nor refused yet, each with the offset of its record."""
    offset: int | None = None
    """Of the last record of the service topic that was applied; None before the first."""
    answers: tuple[Answer, ...] = ()
    """To the last records, in their order."""

    @property
    def taken_pins(self) -> SortedMapping[TopicPartition, PartitionPin]:
        if not self.unjudged:
            return self.pins
        return SortedMapping({partition: pin for partition, pin in self.pins.items() if partition not in self.unjudged})

    def with_restart(self, record: ConsumerRestart) -> "Desired":
        """A record without an incarnation asks for no restart."""
        if record.up_to is None:
            return self.without_restart(record.consumer)
        return replace(self, restarts=SortedMapping({**self.restarts, record.consumer: record}))

    def without_restart(self, consumer: ConsumerId) -> "Desired":
        restarts = {other: record for other, record in self.restarts.items() if other != consumer}
        return replace(self, restarts=SortedMapping(restarts))

    def with_pin(self, pin: PartitionPin, offset: int | None) -> "Desired":
        pins, unjudged = {**self.pins, pin.partition: pin}, {**self.unjudged, pin.partition: offset}
        return replace(self, pins=SortedMapping(pins), unjudged=SortedMapping(unjudged))

    def without_pin(self, partition: TopicPartition) -> "Desired":
        pins = {other: pin for other, pin in self.pins.items() if other != partition}
        return replace(self.with_judged(partition), pins=SortedMapping(pins))

    def with_judged(self, partition: TopicPartition) -> "Desired":
        unjudged = {other: offset for other, offset in self.unjudged.items() if other != partition}
        return replace(self, unjudged=SortedMapping(unjudged))

    def answered(self, offset: int | None, taken: bool, words: str) -> "Desired":
        """The last answer to a record counts. Event logs of older versions have no offsets."""
        if offset is None:
            return self
        others = (answer for answer in self.answers if answer.offset != offset)
        answers = sorted((*others, Answer(offset, taken, words)), key=lambda answer: answer.offset)
        return replace(self, answers=tuple(answers[-MOST_ANSWERS:]))
