"""The demonstration's run: a broker, a group and a load for some minutes, one consumer killed on the way, an audit.

One loop produces, watches and tells. It ends early with the reason when a part of it ends.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from restow.demo.group import DemoGroup
from restow.demo.load import BUSY_FROM, BUSY_UNTIL, PARTITIONS, PRODUCE_UNTIL, TOPICS, Load, load_at
from restow.demo.pauses import moves_in
from restow.errors import RestowError
from restow.kafka.admin import Admin
from restow.kafka.broker import EmbeddedKafka
from restow.kafka.clients import make_producer
from restow.kafka.topics import wait_until_shown
from restow.pipeline.audit import latencies_s, stored_in
from restow.settings import Kafka

TICK_S: Final = 0.1
TELL_EVERY_S: Final = 10.0
COUNT_EVERY_S: Final = 1.0
KILL_AT: Final = 0.85
"""Of the busy time: when the group has grown, and before it shrinks."""
STORED_WITHIN_S: Final = 120.0
"""After the last record was produced."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    produced: int
    stored: int
    lost: int
    doubled: int
    consumers_min: int
    consumers_max: int
    consumers_mean: float
    moves: int
    pause_p50_s: float
    pause_p99_s: float
    latency_p50_s: float
    latency_p99_s: float
    kills: int

    @property
    def is_well(self) -> bool:
        return self.lost == 0 and self.doubled == 0


def run(seconds: float, directory: Path, say: Say) -> Outcome:
    say("starting Kafka")
    with EmbeddedKafka() as broker:
        kafka = Kafka(broker.bootstrap)
        _make_topics(kafka)
        say(f"Kafka runs at {broker.bootstrap}; starting the monitor and the controller")
        with DemoGroup(directory, broker.bootstrap) as group:
            demonstration = Demonstration(kafka, group, seconds, say)
            demonstration.until_consuming()
            demonstration.produce()
            demonstration.until_stored()
            return demonstration.outcome()


class Demonstration:
    def __init__(self, kafka: Kafka, group: DemoGroup, seconds: float, say: Say) -> None:
        self._group, self._seconds, self._say = group, seconds, say
        self._producer = make_producer(kafka, {"linger.ms": 20})
        self._load = Load()
        self._counts: list[int] = []
        self._counted_s = self._told_s = 0.0
        self._heard = 0
        self._kills = 0

    def until_consuming(self) -> None:
        """A first trickle, so that there is something to consume; the run begins when a consumer reads it."""
        self._say("waiting for the first consumer; Spark takes some seconds to start")
        deadline = time.monotonic() + STORED_WITHIN_S
        while not self._has_stored():
            self._produce_for(0.0, 1.0)
            self._listen()
            self._wait(1.0, deadline, "no consumer has stored anything")

    def produce(self) -> None:
        begun_s = last_s = time.monotonic()
        while (share := (time.monotonic() - begun_s) / self._seconds) < PRODUCE_UNTIL:
            now_s = time.monotonic()
            self._produce_for(share, now_s - last_s)
            last_s = now_s
            self._watch(share)
            if not self._kills and share >= BUSY_FROM + KILL_AT * (BUSY_UNTIL - BUSY_FROM):
                self._kill_one()
            self._wait(TICK_S)
        self._producer.flush(30)
        self._say(f"produced {sum(self._load.produced.values()):,} records; waiting until all are stored")

    def until_stored(self) -> None:
        """Everything is there, and the group is small again."""
        deadline = time.monotonic() + STORED_WITHIN_S
        while any(self._group.table(topic).exists() is False for topic in TOPICS) or self._missing() > 0:
            self._watch(1.0)
            if time.monotonic() > deadline:
                return  # the audit tells what is missing
            self._wait(1.0)
        while len(self._group.consumers()) > 1 and time.monotonic() < deadline:
            self._watch(1.0)
            self._wait(1.0)

    def outcome(self) -> Outcome:
        stored = [stored_in(self._group.table(topic)) for topic in TOPICS]
        moves = moves_in(self._group.log.read_text(encoding="utf-8").splitlines())
        latencies = sorted(each for topic in TOPICS for each in latencies_s(self._group.table(topic)))
        produced = sum(self._load.produced.values())
        return Outcome(
            produced=produced,
            stored=sum(each.rows for each in stored),
            lost=produced - sum(each.ids for each in stored),
            doubled=sum(each.doubled for each in stored),
            consumers_min=min(self._counts, default=0),
            consumers_max=max(self._counts, default=0),
            consumers_mean=round(sum(self._counts) / max(1, len(self._counts)), 2),
            moves=moves.count,
            pause_p50_s=quantile(moves.pauses_s, 0.5),
            pause_p99_s=quantile(moves.pauses_s, 0.99),
            latency_p50_s=quantile(latencies, 0.5),
            latency_p99_s=quantile(latencies, 0.99),
            kills=self._kills,
        )

    def _produce_for(self, share: float, seconds: float) -> None:
        for partition, record in self._load.records(share, seconds):
            self._producer.produce(partition.topic, record, partition=partition.partition)
        self._producer.poll(0)

    def _watch(self, share: float) -> None:
        now_s = time.monotonic()
        self._listen()
        if now_s - self._counted_s >= COUNT_EVERY_S:
            self._counted_s = now_s
            self._counts.append(len(self._group.consumers()))
        if now_s - self._told_s >= TELL_EVERY_S and self._counts:
            self._told_s = now_s
            load, count = load_at(share), self._counts[-1]
            self._say(f"load {load:.1f} capacities, {count} consumer{'s' if count != 1 else ''}")

    def _listen(self) -> None:
        """What the controller has said since."""
        lines = self._group.said("controller").splitlines(keepends=True)
        for line in lines[self._heard :]:
            if not line.endswith("\n"):
                break
            self._heard += 1
            _, _, words = line.rstrip().partition(" ")
            self._say(f"  controller: {words}")
        if role := self._group.ended():
            raise RestowError(f"the {role} has ended: {self._group.said(role)[-300:].strip()}")

    def _kill_one(self) -> None:
        victim = max(self._group.consumers(), default=None)
        if victim is not None and self._group.kill(victim):
            self._kills += 1
            self._say(f"killed consumer {victim}, without a word to anybody")

    def _has_stored(self) -> bool:
        return all(stored_in(self._group.table(topic)).rows > 0 for topic in TOPICS)

    def _missing(self) -> int:
        return sum(self._load.produced[topic] - stored_in(self._group.table(topic)).ids for topic in TOPICS)

    def _wait(self, seconds: float, deadline: float = math.inf, words: str = "") -> None:
        if time.monotonic() > deadline:
            raise RestowError(f"{words} within {STORED_WITHIN_S:.0f} s; the logs are in {self._group.directory}")
        time.sleep(seconds)


def quantile(ascending: Sequence[float], share: float) -> float:
    """The smallest value that this share of all values does not exceed; 0 without any."""
    if not ascending:
        return 0.0
    return round(ascending[min(len(ascending) - 1, math.ceil(share * len(ascending)) - 1)], 3)


def _make_topics(kafka: Kafka) -> None:
    with Admin(kafka) as admin:
        for topic in TOPICS:
            admin.create_topic(topic, PARTITIONS)
        wait_until_shown(admin, dict.fromkeys(TOPICS, PARTITIONS))
