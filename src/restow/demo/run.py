"""The demonstration's run: a broker, a group and a load for some minutes, one consumer killed on the way, an audit.

One loop produces, watches and tells; `course.py` says when the load changes. It ends early with the reason when a part
of it ends.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from restow.demo.audit import DemoResult, audit
from restow.demo.course import Act, Course, Scene
from restow.demo.group import DemoGroup
from restow.demo.group_view import Picture
from restow.demo.load import CAPACITY_BYTES_PER_S, PARTITIONS, TOPICS, WEIGHTS
from restow.demo.log_tail import Follower
from restow.demo.narration import told
from restow.demo.pauses import MoveCounter
from restow.demo.producing import LoadProducer
from restow.errors import RestowError
from restow.kafka.admin import Admin
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.kafka.topics import wait_until_shown
from restow.model import TopicPartition
from restow.pipeline.audit import last_offsets, stored_in
from restow.settings import Kafka
from restow.text import counted

TICK_S: Final = 0.1
LOOK_EVERY_S: Final = 1.0
TELL_EVERY_S: Final = 10.0
READING_WITHIN_S: Final = 600.0
"""The first consumer. Half a minute is usual. A controller that has to compile its packer first takes half a minute of
a core more, and one whose consumer doesn't come up tries again after three minutes."""
NOTHING_NEW_FOR_S: Final = 600.0
"""Rows that are not stored so long after the last ones are taken for lost. Spark may take minutes to start where others
need the machine."""
SMALL_WITHIN_S: Final = 180.0
"""After the last row was stored."""
SHOWN: Final = {
    Act.BUSY: "three consumers are at work",
    Act.ACCIDENT: "every partition is read again",
    Act.QUIET_AGAIN: "one consumer is left",
}
ALL: Final = tuple(TopicPartition(topic, number) for topic in TOPICS for number in range(PARTITIONS))

Say = Callable[[str], None]


def run(seconds: float, directory: Path, say: Say) -> DemoResult:
    say("starting Kafka: the real one, on this machine")
    with EmbeddedKafka(say=say) as broker:
        kafka = Kafka(broker.bootstrap)
        _make_topics(kafka)
        say(f"Kafka runs at {broker.bootstrap}, with the topics {' and '.join(TOPICS)} of {PARTITIONS} partitions each")
        with DemoGroup(directory, broker.bootstrap) as group:
            demonstration = Demonstration(LoadProducer(kafka), group, seconds, say, broker.check)
            demonstration.until_reading()
            demonstration.perform()
            demonstration.until_stored()
            demonstration.until_small()
            say("ending the group; then DuckDB counts what is in the tables")
    return demonstration.audited()


class Demonstration:
    def __init__(
        self, producer: LoadProducer, group: DemoGroup, seconds: float, say: Say, check_broker: Callable[[], None]
    ) -> None:
        self._producer, self._group, self._say, self._check_broker = producer, group, say, check_broker
        self._course = Course(seconds)
        self._log, self._picture, self._moves = Follower(group.log), Picture(), MoveCounter()
        self._counts: list[int] = []
        self._looked_s = self._told_s = 0.0
        self._kills = 0
        self._is_shown = False

    def until_reading(self) -> None:
        """Nothing is produced before: it would wait for Spark's start, and tell nothing of a running group."""
        self._say("a monitor and a controller start, and a first consumer: a Spark of its own takes some seconds")
        deadline_s = time.monotonic() + READING_WITHIN_S
        while self._scene().unread:
            self._listen()
            if time.monotonic() > deadline_s:
                raise RestowError(
                    f"no consumer reads anything after {READING_WITHIN_S:.0f} s; its last words: {self._last_words()}"
                )
            time.sleep(TICK_S)

    def perform(self) -> None:
        """The whole course. What is seen of the group is a second old at most."""
        begun_s = time.monotonic()
        self._begin_act()
        while self._course.act is not Act.OVER:
            self._producer.produce(self._course.capacities)
            if self._looks():
                self._play(time.monotonic() - begun_s)
            time.sleep(TICK_S)

    def until_stored(self) -> None:
        """Until the last record of each partition is stored, and so all before it: whatever is missing then is lost."""
        self._producer.finish()
        self._say(f"no more is produced: {self._producer.total:,} records are in Kafka, and shall all be in the tables")
        most, since_s = -1, time.monotonic()
        while not self._has_stored_the_last():
            if (stored := self._stored_rows()) > most:
                most, since_s = stored, time.monotonic()
            if time.monotonic() - since_s > NOTHING_NEW_FOR_S:
                return  # the audit tells what is missing
            self._looks()
            time.sleep(LOOK_EVERY_S)

    def until_small(self) -> None:
        """A course that was cut short may end before the group is small again."""
        deadline_s = time.monotonic() + SMALL_WITHIN_S
        while len(self._group.consumers()) > 1 and time.monotonic() < deadline_s:
            self._looks()
            time.sleep(LOOK_EVERY_S)

    def audited(self) -> DemoResult:
        self._listen_to_log()
        return audit(self._group, self._producer.produced, self._counts, self._moves.moves, self._kills)

    def _play(self, at_s: float) -> None:
        if self._course.act is Act.ACCIDENT and not self._kills:
            self._strike()
        scene = self._scene()
        if not self._is_shown and self._course.is_shown(scene):
            self._is_shown = True
            if words := SHOWN.get(self._course.act):
                self._say(f"{words}, after {self._course.lasted_s(at_s):.0f} s")
        if self._course.goes_on(at_s, scene):
            self._begin_act()

    def _begin_act(self) -> None:
        self._is_shown = False
        load = f"{self._course.capacities:g} times what one consumer carries"
        match self._course.act:
            case Act.QUIET:
                spread = "to ".join(f"{weight} " for weight in WEIGHTS)
                self._say(f"quiet: the load is {load}, {spread}over the partitions of each topic")
            case Act.BUSY:
                self._say(f"busy: the load rises to {load}")
            case Act.QUIET_AGAIN:
                self._say(f"quiet again: the load falls to {load}")
            case Act.ACCIDENT | Act.OVER:
                pass

    def _strike(self) -> None:
        """Kills the consumer that reads most; tried again, should none be there at the moment."""
        held = self._picture.held
        victim = max(held, key=lambda consumer: len(held[consumer]), default=None)
        if victim is not None and self._group.kill(victim):
            self._kills += 1
            self._picture.lose(victim)
            partitions = counted(len(held[victim]), "partition")
            self._say(f"accident: consumer {victim} is killed, with SIGKILL, while it reads {partitions}")

    def _looks(self) -> bool:
        """At everything, each second. Whether it did."""
        now_s = time.monotonic()
        if now_s - self._looked_s < LOOK_EVERY_S:
            return False
        self._looked_s = now_s
        self._listen()
        self._counts.append(len(self._group.consumers()))
        if now_s - self._told_s >= TELL_EVERY_S:
            self._told_s = now_s
            self._tell()
        return True

    def _scene(self) -> Scene:
        there = self._group.consumers()
        at_work = [consumer for consumer in self._picture.held if consumer in there]
        return Scene(len(there), len(at_work), len(set(ALL) - self._picture.read))

    def _tell(self) -> None:
        measured = self._picture.bytes_per_s / CAPACITY_BYTES_PER_S
        behind = self._producer.total - self._stored_rows()
        self._say(
            f"load {self._course.capacities:.1f}, measured {measured:.1f}; {counted(self._counts[-1], 'consumer')}, "
            f"{len(self._picture.held)} at work; {self._producer.total:,} records produced, {behind:,} not yet stored"
        )

    def _listen(self) -> None:
        self._listen_to_log()
        self._check_broker()
        if role := self._group.ended():
            raise RestowError(f"the {role} has ended: {self._group.said(role)[-300:].strip()}")

    def _listen_to_log(self) -> None:
        for entry in self._log.news():
            self._moves.see(entry.event)
            self._picture.see(entry.event)
            for line in told(entry.effects, ALL):
                self._say(line)

    def _last_words(self) -> str:
        lines = [line for log in sorted(self._group.processes.glob("*/consumer.log")) for line in log.open()]
        return lines[-1].strip() if lines else "none"

    def _has_stored_the_last(self) -> bool:
        stored = {topic: last_offsets(self._group.table(topic)) for topic in TOPICS}
        ends = self._producer.ends.items()
        return all(stored[partition.topic].get(partition.partition) == end - 1 for partition, end in ends)

    def _stored_rows(self) -> int:
        return sum(stored_in(self._group.table(topic)).rows for topic in TOPICS)


def _make_topics(kafka: Kafka) -> None:
    with Admin(kafka) as admin:
        for topic in TOPICS:
            admin.create_topic(topic, PARTITIONS)
        wait_until_shown(admin, dict.fromkeys(TOPICS, PARTITIONS))
