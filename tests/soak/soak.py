"""A whole group on Spark whose consumers are killed at random instants, again and again, and an audit at the end.

    make soak            or: python -m tests.soak.soak [--seed 7] [--kills 15] [--data DIR]

The group is the demonstration's: a broker, a monitor, a controller and consumers as processes, under a steady load for
two or three of them. The seed decides when the next kill comes and whom it hits, also one that is still starting.
DuckDB counts what is in the tables. The exit code is 1 if anything is lost, doubled or out of order.
"""

import argparse
import random
import re
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import duckdb
from tests.support.delta.lake import brought

from restow.demo.audit import quantile
from restow.demo.group import GROUP, DemoGroup
from restow.demo.load import PARTITIONS, TOPICS
from restow.demo.producing import LoadProducer
from restow.kafka.admin import Admin
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.kafka.topics import wait_until_shown
from restow.pipeline.audit import absent_from, latencies_s, stored_in
from restow.settings import Kafka

LOAD: Final = 1.6
"""In capacities of a consumer."""
PAUSES_S: Final = (0.0, 30.0)
"""From the first rows that come after a kill to the next one: also on a slow machine not all of them hit a start."""
TICK_S: Final = 0.1
ROWS_WITHIN_S: Final = 300.0
"""After the start, and after each kill."""
NOTHING_NEW_FOR_S: Final = 180.0
"""Rows that are not stored so long after the last ones are taken for lost."""


@dataclass(frozen=True, slots=True)
class Kill:
    consumer: int
    at: datetime
    in_a_cycle: bool
    """Something was about to be stored."""


@dataclass(frozen=True, slots=True)
class Figures:
    seed: int
    kills: int
    kills_in_a_cycle: int
    found_stored: int
    """What was under way at kills, by table, and the next process found in the table."""
    found_not_stored: int
    seconds: float
    produced: int
    stored: int
    lost: int
    doubled: int
    out_of_order: int
    ready_again_p50_s: float
    """From a kill to the same consumer's next word that it is ready."""
    ready_again_max_s: float
    latency_p50_s: float
    latency_p99_s: float

    @property
    def is_well(self) -> bool:
        return self.lost == self.doubled == self.out_of_order == 0


def pauses_s(chance: random.Random) -> Iterator[float]:
    while True:
        yield chance.uniform(*PAUSES_S)


class Soak:
    def __init__(self, group: DemoGroup, producer: LoadProducer, seed: int) -> None:
        self._group, self._producer, self._seed = group, producer, seed
        self._chance = random.Random(seed)
        self.kills: list[Kill] = []

    def run(self, kills: int) -> None:
        pauses = pauses_s(self._chance)
        while len(self.kills) < kills:
            self._until_rows_come()
            self._produce_for(next(pauses))
            self._strike()
        self._until_rows_come()
        self._producer.finish()
        say(f"{self._producer.total:,} records were produced; waiting until they are stored")
        self._until_stored()

    def _strike(self) -> None:
        consumers = self._group.consumers()
        if not consumers:
            return
        victim = self._chance.choice(consumers)
        kill = Kill(victim, datetime.now(UTC), self._is_in_a_cycle(victim))
        if self._group.kill(victim):
            self.kills.append(kill)
            where = "in a cycle" if kill.in_a_cycle else "between cycles, or while it started"
            say(f"kill {len(self.kills)}: consumer {victim}, {where}; {len(consumers)} were there")

    def _is_in_a_cycle(self, consumer: int) -> bool:
        """Its plan is on its volume, and none that was left by its last kill."""
        plan = self._group.processes / f"{GROUP}-consumer-{consumer}" / "plan.json"
        last_kill_s = max((kill.at.timestamp() for kill in self.kills if kill.consumer == consumer), default=0.0)
        try:
            return plan.stat().st_mtime > last_kill_s
        except FileNotFoundError:
            return False

    def _produce_for(self, seconds: float) -> None:
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s:
            self._step()

    def _step(self) -> None:
        self._producer.produce(LOAD)
        if role := self._group.ended_role():
            sys.exit(f"the {role} has ended: {self._group.output_of(role)[-1000:]}")
        time.sleep(TICK_S)

    def _until_rows_come(self) -> None:
        before, deadline_s = self._stored(), time.monotonic() + ROWS_WITHIN_S
        while self._stored() == before:
            self._produce_for(1.0)
            if time.monotonic() > deadline_s:
                said = self._group.output_of("controller")[-1000:]
                sys.exit(f"nothing was stored for {ROWS_WITHIN_S:.0f} s; the controller said: {said}")

    def _stored(self) -> int:
        return sum(stored_in(self._group.table(topic)).rows for topic in TOPICS)

    def _until_stored(self) -> None:
        most, since_s = -1, time.monotonic()
        while (stored := self._stored()) < self._producer.total:
            if stored > most:
                most, since_s = stored, time.monotonic()
            if time.monotonic() > since_s + NOTHING_NEW_FOR_S:
                return  # the audit tells what is missing
            time.sleep(1.0)


def audited(group: DemoGroup, produced: dict[str, int], kills: list[Kill], seed: int, seconds: float) -> Figures:
    tables = {topic: group.table(topic) for topic in produced}
    stored = {topic: stored_in(table) for topic, table in tables.items()}
    latencies = sorted(each for table in tables.values() for each in latencies_s(table))
    logs = {path.parent.name: path.read_text() for path in sorted(group.processes.glob("*/consumer.log"))}
    again = sorted(ready_again_s(kills, logs))
    return Figures(
        seed=seed,
        kills=len(kills),
        kills_in_a_cycle=sum(kill.in_a_cycle for kill in kills),
        found_stored=sum(log.count(" was stored") for log in logs.values()),
        found_not_stored=sum(log.count(" was not stored") for log in logs.values()),
        seconds=round(seconds),
        produced=sum(produced.values()),
        stored=sum(each.rows for each in stored.values()),
        lost=sum(absent_from(tables[topic], topic, count) for topic, count in produced.items()),
        doubled=sum(each.doubled for each in stored.values()),
        out_of_order=sum(map(out_of_order, tables.values())),
        ready_again_p50_s=quantile(again, 0.5),
        ready_again_max_s=quantile(again, 1.0),
        latency_p50_s=quantile(latencies, 0.5),
        latency_p99_s=quantile(latencies, 0.99),
    )


def out_of_order(table: Path) -> int:
    """Rows that came after a later one of their partition: in a later commit, or further down in the same file."""
    files = list(map(str, brought(table)))
    rows = "read_parquet($files, filename = true, file_row_number = true)"
    place = "list_position($files, filename), file_row_number"
    before = f"lag(_offset) OVER (PARTITION BY _topic, _partition ORDER BY {place})"
    with duckdb.connect() as engine:
        query = f"SELECT count(*) FROM (SELECT _offset < {before} AS is_late FROM {rows}) WHERE is_late"
        [(count,)] = engine.execute(query, {"files": files}).fetchall()
    return int(count)


def ready_again_s(kills: list[Kill], logs: dict[str, str]) -> Iterator[float]:
    """Of each kill after which the same consumer was ready again, and not killed before."""
    for index, kill in enumerate(kills):
        log = logs.get(f"{GROUP}-consumer-{kill.consumer}", "")
        moments = [
            datetime.fromisoformat(found[1]) for found in re.finditer(r"(?m)^(\S+) .*\bconsumer \d+ is ready", log)
        ]
        next_kill = min((other.at for other in kills[index + 1 :] if other.consumer == kill.consumer), default=None)
        ready = min((moment for moment in moments if moment > kill.at), default=None)
        if ready and (next_kill is None or ready < next_kill):
            yield (ready - kill.at).total_seconds()


def make_topics(kafka: Kafka) -> None:
    with Admin(kafka) as admin:
        for topic in TOPICS:
            admin.create_topic(topic, PARTITIONS)
        wait_until_shown(admin, dict.fromkeys(TOPICS, PARTITIONS))


def say(line: str) -> None:
    print(f"{datetime.now(UTC):%H:%M:%S} {line}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10_000), help="left out: another each time")
    parser.add_argument("--kills", type=int, default=15)
    parser.add_argument("--data", type=Path, help="keep tables, logs and volumes here")
    args = parser.parse_args()
    say(f"seed {args.seed}: {args.kills} kills")
    begun_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="restow-soak-", ignore_cleanup_errors=True) as temporary:
        directory = (args.data or Path(temporary)).absolute()
        directory.mkdir(parents=True, exist_ok=True)
        with EmbeddedKafka() as broker:
            kafka = Kafka(broker.bootstrap)
            make_topics(kafka)
            with DemoGroup(directory, broker.bootstrap, with_page=False) as group:
                soak = Soak(group, producer := LoadProducer(kafka), args.seed)
                soak.run(args.kills)
        figures = audited(group, producer.produced, soak.kills, args.seed, time.monotonic() - begun_s)
    for name, value in asdict(figures).items():
        print(f"{name:>20} {value:,}")
    if not figures.is_well:
        print(f"repeat it with: make soak SEED={args.seed}")
    return 0 if figures.is_well else 1


if __name__ == "__main__":
    sys.exit(main())
