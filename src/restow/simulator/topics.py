"""Simulated Kafka: four of the protocol's five topics, with transactions, fencing, delays, duplicates and outages.

`append` returns an offset; a reader gets the records that are visible by now, in order. A transaction leaves a marker
on each partition it wrote to, which takes an offset as Kafka's does. `wire.py` defines the records.
"""

import random
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Final

from restow.simulator.agenda import Agenda

LEAST_DELAY_S: Final = 0.002
USUAL_DELAY_S: Final = 0.04
MARKER: Final = object()
"""A transaction marker: it takes an offset, and readers skip it."""
DELETED: Final = object()
"""A record that its topic no longer keeps. No reader may be so late."""
LOOK_BACK: Final = 500
"""How many records of partition 0 a starting controller reads."""
KEPT_S: Final = 600.0
"""How long topics keep records, but for the last ones: the reports of a thousand consumers would take gigabytes."""


class Topic(StrEnum):
    CONTROLLER = "controller"
    QUERY = "query"
    SERVICE = "service"
    MONITOR = "monitor"


Place = tuple[Topic, int]

KEPT: Final[Mapping[Topic, int | None]] = {Topic.CONTROLLER: LOOK_BACK, Topic.SERVICE: None}
"""How many of the last records of a partition stay however old they are; None: all. Of others, one."""


class Fenced(Exception):
    """A newer controller has taken over the transactional id."""


class PartitionLog:
    """One partition."""

    __slots__ = (
        *("_deleted", "_kept", "appended_s", "extra_delay_s", "extra_until_s", "listeners", "records", "visible_s"),
    )

    def __init__(self, kept: int | None = None) -> None:
        self._kept = kept
        """As in `KEPT`."""
        self._deleted = 0
        """Those before this offset are."""
        self.records: list[object] = []
        self.appended_s: list[float] = []
        self.visible_s: list[float] = []
        self.listeners: list[Callable[[float], None]] = []
        """Called with the time from which something new can be read."""
        self.extra_delay_s = 0.0
        self.extra_until_s = 0.0

    @property
    def end(self) -> int:
        return len(self.records)

    def append(self, record: object, now_s: float, visible_s: float) -> int:
        offset = len(self.records)
        if self.visible_s and self.visible_s[-1] > visible_s:
            visible_s = self.visible_s[-1]  # within a partition, order is kept
        self.records.append(record)
        self.appended_s.append(now_s)
        self.visible_s.append(visible_s)
        if self._kept is not None and self.appended_s[self._deleted] < now_s - KEPT_S:
            self._delete(now_s - KEPT_S, len(self.records) - self._kept)
        if record is not MARKER:
            for listener in tuple(self.listeners):
                listener(visible_s)
        return offset

    def _delete(self, before_s: float, before_offset: int) -> None:
        while self._deleted < before_offset and self.appended_s[self._deleted] < before_s:
            self.records[self._deleted] = DELETED
            self._deleted += 1


class Kafka:
    def __init__(self, agenda: Agenda, rng: random.Random) -> None:
        self._agenda, self._rng = agenda, rng
        self._logs: dict[Place, PartitionLog] = {}
        self.in_charge: object = None
        """The producer that took over last."""
        self.down_until_s = 0.0
        self.repeats_until_s = 0.0
        """Until then a record outside a transaction may be appended twice: its acknowledgement was lost, and the
        producer retried."""

    @property
    def is_up(self) -> bool:
        return self._agenda.now_s >= self.down_until_s

    def log(self, topic: Topic, partition: int) -> PartitionLog:
        place = (topic, partition)
        found = self._logs.get(place)
        if found is None:
            found = self._logs[place] = PartitionLog(KEPT.get(topic, 1))
        return found

    def places(self) -> list[Place]:
        return sorted(self._logs)

    def append(self, topic: Topic, partition: int, record: object) -> int:
        """Returns the offset of the acknowledged copy, the last one."""
        log = self.log(topic, partition)
        offset = self._append(log, record)
        if self._agenda.now_s < self.repeats_until_s and self._rng.random() < 0.5:
            offset = self._append(log, record)
        return offset

    def take_over(self, producer: object) -> None:
        """Fences all other producers."""
        self.in_charge = producer

    def commit(self, producer: object, records: Iterable[tuple[Topic, int, object]]) -> list[int]:
        """Commits the records in one transaction. Returns their offsets; raises Fenced."""
        if producer is not self.in_charge:
            raise Fenced
        logs: dict[Place, PartitionLog] = {}
        offsets = []
        for topic, partition, record in records:
            log = logs[(topic, partition)] = self.log(topic, partition)
            offsets.append(self._append(log, record))
        for log in logs.values():
            self._append(log, MARKER)
        return offsets

    def _append(self, log: PartitionLog, record: object) -> int:
        assert self.is_up, "the brokers are down"
        now_s = self._agenda.now_s
        delay_s = LEAST_DELAY_S + USUAL_DELAY_S * self._rng.random()
        if now_s < log.extra_until_s:
            delay_s += log.extra_delay_s * self._rng.random()
        return log.append(record, now_s, now_s + delay_s)


class TopicReader:
    """Reads one partition from an offset; `wake` is called with the time from which a new record is visible."""

    def __init__(self, kafka: Kafka, log: PartitionLog, position: int, wake: Callable[[float], None]) -> None:
        self._kafka, self.log, self._wake = kafka, log, wake
        self.position = position
        self.blocked_until_s = 0.0
        log.listeners.append(wake)

    def close(self) -> None:
        if self._wake in self.log.listeners:
            self.log.listeners.remove(self._wake)

    def block(self, until_s: float) -> None:
        """The reader gets nothing until then."""
        self.blocked_until_s = max(self.blocked_until_s, until_s)
        self._wake(self.blocked_until_s)

    def read(self, now_s: float) -> list[tuple[int, object]]:
        log = self.log
        position, end = self.position, len(log.records)
        if position >= end or now_s < self.blocked_until_s or now_s < self._kafka.down_until_s:
            return []
        found = []
        while position < end and log.visible_s[position] <= now_s:
            record = log.records[position]
            assert record is not DELETED, f"offset {position} is read {now_s - log.appended_s[position]:.0f} s late"
            if record is not MARKER:
                found.append((position, record))
            position += 1
        self.position = position
        return found

    def is_behind(self, now_s: float, by_s: float) -> bool:
        """Whether a record that was appended this long ago has not been read."""
        return self.position < len(self.log.records) and self.log.appended_s[self.position] < now_s - by_s
