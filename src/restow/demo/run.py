"""The demonstration's run: a broker, a group and a load for some minutes, one consumer killed on the way, an audit.

One loop produces, watches and narrates; `course.py` decides when the load changes. If a part of it fails, the run ends
with the reason.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from restow.demo.audit import DemoResult, audit
from restow.demo.course import SPARES, Act, Course, Scene
from restow.demo.group import DemoGroup
from restow.demo.group_view import GroupView
from restow.demo.load import CAPACITY_BYTES_PER_S, PARTITIONS, TOPICS, WEIGHTS
from restow.demo.log_tail import EventLogTail
from restow.demo.narration import narrated
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
STATUS_EVERY_S: Final = 10.0
READING_WITHIN_S: Final = 600.0
"""Until the first consumer reads: usually half a minute, and half a minute of a core more if the packer has to be
compiled. A controller replaces a consumer that doesn't come up after three minutes."""
NOTHING_NEW_FOR_S: Final = 600.0
"""If no row is stored for this long, the missing ones count as lost. On a busy machine Spark may take minutes to
start."""
SMALL_WITHIN_S: Final = 180.0
"""Time to shrink to one consumer and its spare after the last row was stored."""
SHOWN: Final = {
    Act.BUSY: "two consumers are at work",
    Act.ACCIDENT: "every partition is read again",
    Act.QUIET_AGAIN: "one consumer and its spare are left",
}
ALL: Final = tuple(TopicPartition(topic, number) for topic in TOPICS for number in range(PARTITIONS))

Narrate = Callable[[str], None]


def run(seconds: float, directory: Path, narrate: Narrate, *, with_page: bool) -> DemoResult:
    narrate("starting Apache Kafka on this machine")
    with EmbeddedKafka() as broker:
        kafka = Kafka(broker.bootstrap)
        _make_topics(kafka)
        narrate(f"Kafka runs at {broker.bootstrap}; topics: {' and '.join(TOPICS)}, {PARTITIONS} partitions each")
        with DemoGroup(directory, broker.bootstrap, with_page=with_page) as group:
            demonstration = Demonstration(LoadProducer(kafka), group, seconds, narrate, broker.check)
            demonstration.wait_until_reading()
            demonstration.perform()
            demonstration.wait_until_stored()
            demonstration.wait_until_small()
            group.keep_picture()
            narrate("stopping the group; then DuckDB counts the rows")
    return demonstration.audited()


class Demonstration:
    def __init__(
        self,
        producer: LoadProducer,
        group: DemoGroup,
        seconds: float,
        narrate: Narrate,
        check_broker: Callable[[], None],
    ) -> None:
        self._producer, self._group, self._narrate, self._check_broker = producer, group, narrate, check_broker
        self._course = Course(seconds)
        self._log, self._view, self._moves = EventLogTail(group.log), GroupView(), MoveCounter()
        self._counts: list[int] = []
        self._looked_s = self._narrated_s = 0.0
        self._kills = 0
        self._is_shown = False
        self._is_page_shown = False

    def wait_until_reading(self) -> None:
        """Nothing is produced before: those records would only show how long Spark takes to start."""
        self._narrate(
            "starting the monitor, the controller, a first consumer, and a spare that waits, warm and without "
            "partitions; Spark takes some seconds"
        )
        deadline_s = time.monotonic() + READING_WITHIN_S
        while self._scene().unread:
            self._update()
            if time.monotonic() > deadline_s:
                raise RestowError(
                    f"no consumer reads anything after {READING_WITHIN_S:.0f} s; its log ends with: {self._last_line()}"
                )
            time.sleep(TICK_S)

    def perform(self) -> None:
        """Plays the whole course. The view of the group is at most a second old."""
        begun_s = time.monotonic()
        self._begin_act()
        while self._course.act is not Act.OVER:
            self._producer.produce(self._course.capacities)
            if self._look():
                self._play(time.monotonic() - begun_s)
            time.sleep(TICK_S)

    def wait_until_stored(self) -> None:
        """Waits for the last record of each partition. They are stored in order, so anything missing then is lost."""
        self._producer.finish()
        self._narrate(f"the load ends: {self._producer.total:,} records are in Kafka, and all must reach the tables")
        most, since_s = -1, time.monotonic()
        while not self._has_stored_the_last():
            if (stored := self._stored_rows()) > most:
                most, since_s = stored, time.monotonic()
            if time.monotonic() - since_s > NOTHING_NEW_FOR_S:
                return  # the audit counts what is missing
            self._look()
            time.sleep(LOOK_EVERY_S)

    def wait_until_small(self) -> None:
        """The course may have ended before the group was small again."""
        deadline_s = time.monotonic() + SMALL_WITHIN_S
        while len(self._group.consumers()) > 1 + SPARES and time.monotonic() < deadline_s:
            self._look()
            time.sleep(LOOK_EVERY_S)

    def audited(self) -> DemoResult:
        self._read_log()
        return audit(self._group, self._producer.produced, self._counts, self._moves.moves, self._kills)

    def _play(self, at_s: float) -> None:
        if self._course.act is Act.ACCIDENT and not self._kills:
            self._kill_one()
        scene = self._scene()
        if not self._is_shown and self._course.is_shown(scene):
            self._is_shown = True
            if words := SHOWN.get(self._course.act):
                self._narrate(f"{words}, after {self._course.lasted_s(at_s):.0f} s")
        if self._course.goes_on(at_s, scene):
            self._begin_act()

    def _begin_act(self) -> None:
        self._is_shown = False
        load = f"{self._course.capacities:g} times the capacity of one consumer"
        match self._course.act:
            case Act.QUIET:
                spread = "to ".join(f"{weight} " for weight in WEIGHTS)
                self._narrate(f"quiet: the load is {load}, spread {spread}over the partitions of each topic")
            case Act.BUSY:
                self._narrate(f"busy: the load rises to {load}")
            case Act.QUIET_AGAIN:
                self._narrate(f"quiet again: the load falls to {load}")
            case Act.ACCIDENT | Act.OVER:
                pass

    def _kill_one(self) -> None:
        """Kills the consumer with the most partitions. Tried again if it has no process at the moment."""
        held = self._view.held
        victim = max(held, key=lambda consumer: len(held[consumer]), default=None)
        if victim is not None and self._group.kill(victim):
            self._kills += 1
            self._view.remove(victim)
            partitions = counted(len(held[victim]), "partition")
            self._narrate(f"accident: consumer {victim} gets SIGKILL while it reads {partitions}")

    def _look(self) -> bool:
        """Updates the view once a second. Returns whether it did."""
        now_s = time.monotonic()
        if now_s - self._looked_s < LOOK_EVERY_S:
            return False
        self._looked_s = now_s
        self._update()
        self._counts.append(len(self._group.consumers()))
        if now_s - self._narrated_s >= STATUS_EVERY_S:
            self._narrated_s = now_s
            self._narrate_status()
        return True

    def _scene(self) -> Scene:
        there = self._group.consumers()
        at_work = [consumer for consumer in self._view.held if consumer in there]
        spare = self._view.idle.intersection(there)
        return Scene(len(there), len(at_work), len(spare), len(set(ALL) - self._view.read))

    def _narrate_status(self) -> None:
        measured = self._view.bytes_per_s / CAPACITY_BYTES_PER_S
        behind = self._producer.total - self._stored_rows()
        self._narrate(
            f"load {self._course.capacities:.1f}, measured {measured:.1f}; {counted(self._counts[-1], 'consumer')}, "
            f"{len(self._view.held)} at work; {self._producer.total:,} records produced, lag {behind:,}"
        )

    def _update(self) -> None:
        self._read_log()
        if not self._is_page_shown and (address := self._group.page_address()):
            self._is_page_shown = True
            self._narrate(f"watch the group at {address}")
        self._check_broker()
        if role := self._group.ended_role():
            raise RestowError(f"the {role} has ended: {self._group.output_of(role)[-300:].strip()}")

    def _read_log(self) -> None:
        for entry in self._log.read_new():
            self._moves.apply(entry.event)
            self._view.apply(entry.event)
            for line in narrated(entry.effects, ALL):
                self._narrate(line)

    def _last_line(self) -> str:
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
