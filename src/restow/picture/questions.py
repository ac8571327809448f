"""What the picture needs to know of the brokers beside the monitor's measurements, and what their answers change.

The controller's process asks (roles/lookups.py); the simulator doesn't, and its picture has what can be known without.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from restow.model import FirstUnread, Retention, TopicPartition
from restow.picture.lag import Clock, LagTracker
from restow.picture.offset_history import Sample
from restow.picture.picture import Lag

ASK_AGAIN_S: Final = 60.0
"""How often a topic's retention and the committed offset of an unread partition are asked for."""


@dataclass(frozen=True, slots=True)
class Questions:
    positions: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Whose first unread record is asked for."""
    unplaced: tuple[TopicPartition, ...] = ()
    """Whose committed offset is asked for."""
    topics: tuple[str, ...] = ()
    """Whose retention is asked for."""

    def __bool__(self) -> bool:
        return bool(self.positions or self.unplaced or self.topics)


@dataclass(frozen=True, slots=True)
class Answers:
    questions: Questions = field(default_factory=Questions)
    records: Mapping[TopicPartition, FirstUnread] = field(default_factory=dict)
    committed: Mapping[TopicPartition, int] = field(default_factory=dict)
    retentions: Mapping[str, Retention] = field(default_factory=dict)
    history: tuple[Sample, ...] = ()
    """End offsets of the last minutes, by the monitor's clock; in the first answers only."""


class Inquiry:
    """Asks for what `lags` does not know, each thing again after a while."""

    def __init__(self, lags: LagTracker) -> None:
        self._lags = lags
        self._history: tuple[Sample, ...] = ()
        """Of an earlier controller's time, until the first measurement of ours."""
        self._asked_s: dict[str | TopicPartition, float] = {}
        self.retentions: dict[str, Retention] = {}
        """By topic, as far as they are known."""

    def questions(
        self, consumed: Iterable[TopicPartition], lags: Mapping[TopicPartition, Lag], now: Clock
    ) -> Questions:
        """What is due now. `consumed` are the partitions of the topics that the group consumes."""
        partitions = frozenset(consumed)
        unplaced = sorted(partition for partition in partitions if not self._lags.knows(partition))
        topics = sorted({partition.topic for partition in partitions})
        return Questions(
            self._lags.unexplained(lags, now, partitions.__contains__),
            tuple(partition for partition in unplaced if self._is_due(partition, now)),
            tuple(topic for topic in topics if self._is_due(topic, now)),
        )

    def asked(self, questions: Questions, now: Clock) -> None:
        self._asked_s.update(dict.fromkeys((*questions.unplaced, *questions.topics), now.monotonic_s))

    def learn(self, answers: Answers, now: Clock) -> None:
        self._history = answers.history or self._history
        self._lags.committed(answers.committed)
        self._lags.looked_up(answers.questions.positions, answers.records, now)
        self.retentions.update(answers.retentions)
        self.restore()

    def restore(self) -> None:
        """Uses an earlier controller's history, as soon as a measurement shows how far the monitor's clock is off."""
        if self._history and self._lags.restored(self._history):
            self._history = ()

    def _is_due(self, subject: str | TopicPartition, now: Clock) -> bool:
        return now.monotonic_s - self._asked_s.get(subject, -ASK_AGAIN_S) >= ASK_AGAIN_S
