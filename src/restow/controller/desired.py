"""What people want of the group beside its topics and settings, and what became of each record of the service topic.

The types are part of the controller's state; services.py changes them.
"""

from dataclasses import dataclass, field, replace
from typing import Final

from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.desired import ConsumerRestart, GroupPause, PartitionPin, RecommendOnly

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
    offset: int | None = None
    """Of the last record of the service topic that was applied; None before the first."""
    answers: tuple[Answer, ...] = ()
    """To the last records, in their order."""

    def answered(self, offset: int | None, taken: bool, words: str) -> "Desired":
        """The last answer to a record counts. Event logs of older versions have no offsets."""
        if offset is None:
            return self
        others = (answer for answer in self.answers if answer.offset != offset)
        answers = sorted((*others, Answer(offset, taken, words)), key=lambda answer: answer.offset)
        return replace(self, answers=tuple(answers[-MOST_ANSWERS:]))
