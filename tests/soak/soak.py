"""A whole group whose parts are struck at random instants, again and again, and an audit at the end.

    make soak [KILLS=100] [SEED=7]
    python -m tests.soak.soak [--kills 100] [--seed 7] [--pipeline light] [--only "broker,JVM alone"] [--result FILE]

The group is `restow up` with consumers as processes, under a steady load for two of them. The seed decides when the
next strike comes, of which kind it is and whom it hits; every kind comes once before any comes again. After each strike
it is measured how long it takes until every record is stored that came up to half a second later, and every role runs.
At the end all records are counted. The exit code is 1 if one is lost, doubled or out of order, or the group doesn't
recover.
`--result` keeps the figures for docs/soak.md (tests/soak/page.py).
"""

import argparse
import json
import math
import random
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest
from tests.soak.group import LIGHT, SPARK, SoakGroup
from tests.soak.load import PARTITIONS, TOPICS, SoakLoad
from tests.soak.strikes import STRIKES, Hit, kinds_for
from tests.support.small_disk import SmallDisk, small_disk

from restow.kafka.admin import Admin
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.kafka.topics import wait_until_shown
from restow.model import TopicPartition
from restow.settings import Kafka

PAUSES_S: Final = {SPARK: (0.0, 20.0), LIGHT: (0.0, 4.0)}
"""From a recovery to the next strike."""
TICK_S: Final = 0.1
RECOVERS_WITHIN_S: Final = 300.0
DISK_MB: Final = 800
ROLES: Final = ("monitor", "controller", "page")


@dataclass(frozen=True, slots=True)
class Recovery:
    kind: str
    kills: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Figures:
    seed: int
    pipeline: str
    kills: int
    seconds: float
    records: int
    stored: int
    lost: int
    doubled: int
    out_of_order: int
    recoveries: tuple[Recovery, ...]
    has_recovered: bool = True
    """From every strike."""

    @property
    def is_well(self) -> bool:
        return self.lost == self.doubled == self.out_of_order == 0


class NotRecovered(Exception):
    pass


class Soak:
    """Implements Battlefield."""

    def __init__(self, group: SoakGroup, broker: EmbeddedKafka, load: SoakLoad, seed: int) -> None:
        self.group, self._broker, self._load = group, broker, load
        self.chance = random.Random(seed)
        self.disk: SmallDisk | None = None
        self.added: dict[str, int] = {}
        self.recoveries: list[Recovery] = []

    @property
    def kills(self) -> int:
        return sum(recovery.kills for recovery in self.recoveries)

    def run(self, kills: int, kinds: Sequence[str], minutes: float) -> None:
        until_s = time.monotonic() + 60 * minutes
        self._until_recovered("the start", Hit(0, time.monotonic()))
        order = shuffled(self.chance, kinds)
        while self.kills < kills and time.monotonic() < until_s:
            self.wait(self.chance.uniform(*PAUSES_S[self.group.pipeline]))
            kind = next(order)
            hit = STRIKES[kind](self)
            if hit is None:
                continue
            seconds = self._until_recovered(kind, hit)
            self.recoveries.append(Recovery(kind, hit.kills, round(seconds, 1)))
            say(f"{self.kills:>4} {kind}: recovered after {seconds:.1f} s")
        self._load.finish()
        self._until_recovered("the last strike", Hit(0, time.monotonic()))

    def wait(self, seconds: float) -> None:
        until_s = time.monotonic() + seconds
        while True:
            self._load.produce()
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return
            time.sleep(min(TICK_S, left_s))

    def kill_broker(self) -> None:
        self._broker.kill_node(1)

    def start_broker(self) -> None:
        self._broker.start_node(1)

    def add_partition(self, topic: str) -> None:
        with Admin(self.group_kafka) as admin:
            admin.grow_topic(topic, count := PARTITIONS + self.added[topic])
            wait_until_shown(admin, {topic: count})
        self._load.grow(topic)

    @property
    def group_kafka(self) -> Kafka:
        return Kafka(self._broker.bootstrap)

    def _until_recovered(self, kind: str, hit: Hit) -> float:
        """Returns the seconds until every record is stored that came up to half a second after the strike: each
        partition has some then."""
        if hit.kills:
            self.wait(0.5)
        wanted, deadline_s = dict(self._load.ends), time.monotonic() + RECOVERS_WITHIN_S
        while not (self._has_stored(wanted) and all(map(self.group.role, ROLES))):
            self.wait(0.2)
            if time.monotonic() > deadline_s:
                raise NotRecovered(f"no recovery within {RECOVERS_WITHIN_S:.0f} s from {kind}: {self._behind(wanted)}")
        return time.monotonic() - hit.from_s

    def _has_stored(self, wanted: dict[TopicPartition, int]) -> bool:
        return not self._behind(wanted)

    def _behind(self, wanted: dict[TopicPartition, int]) -> dict[str, tuple[int, int]]:
        at = self.group.tables.positions(wanted)
        return {str(p): (at.get(p, 0), end) for p, end in wanted.items() if at.get(p, 0) < end}


def shuffled(chance: random.Random, kinds: Sequence[str]) -> Iterator[str]:
    """Every kind once, in any order, and again."""
    while True:
        yield from chance.sample(kinds, len(kinds))


def make_topics(kafka: Kafka) -> None:
    with Admin(kafka) as admin:
        for topic in TOPICS:
            admin.create_topic(topic, PARTITIONS)
        wait_until_shown(admin, dict.fromkeys(TOPICS, PARTITIONS))


def say(line: str) -> None:
    print(f"{datetime.now(UTC):%H:%M:%S} {line}", flush=True)


def lines(figures: Sequence[Figures]) -> Iterator[str]:
    """What a run, or several together, print."""
    of = [recovery for each in figures for recovery in each.recoveries]
    kills = Counter[str]()
    for recovery in of:
        kills[recovery.kind] += recovery.kills
    yield f"{'strike':<30} {'kills':>6} {'recovery p50 s':>15} {'max s':>8}"
    for kind in STRIKES:
        times = sorted(recovery.seconds for recovery in of if recovery.kind == kind)
        if times:
            yield f"{kind:<30} {kills[kind]:>6} {times[len(times) // 2]:>15.1f} {times[-1]:>8.1f}"
    yield f"{'all':<30} {kills.total():>6}"
    for name in ("records", "stored", "lost", "doubled", "out_of_order"):
        yield f"{name:<30} {sum(getattr(each, name) for each in figures):>6,}"


def soak(seed: int, kills: int, pipeline: str, kinds: Sequence[str], minutes: float, directory: Path) -> Figures:
    begun_s = time.monotonic()
    with ExitStack() as ending:
        volumes = directory / "volumes"
        disk = None
        try:
            disk = ending.enter_context(small_disk(volumes, DISK_MB))
        except pytest.skip.Exception as skipped:
            say(f"no disk is filled: {skipped}")
            volumes.mkdir(exist_ok=True)
        broker = ending.enter_context(EmbeddedKafka())
        make_topics(Kafka(broker.bootstrap))
        load = SoakLoad(Kafka(broker.bootstrap))
        with SoakGroup(directory, volumes, broker.bootstrap, pipeline) as group:
            running = Soak(group, broker, load, seed)
            running.disk = disk
            has_recovered = True
            try:
                running.run(kills, kinds, minutes)
            except NotRecovered as error:
                has_recovered = False
                say(f"FAILED: {error}\n{group.output[-3000:]}")
                load.finish()
        audit = group.tables.audit(load.produced)
    took_s = time.monotonic() - begun_s
    counts = (audit.stored, audit.lost, audit.doubled, audit.out_of_order)
    return Figures(
        seed,
        pipeline,
        running.kills,
        round(took_s),
        load.produced.total(),
        *counts,
        tuple(running.recoveries),
        has_recovered,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10_000), help="left out: another each time")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=math.inf, help="strike no longer than this")
    parser.add_argument("--pipeline", choices=(SPARK, LIGHT), default=SPARK)
    parser.add_argument("--only", default="", help="kinds of strikes, separated by commas (default: all)")
    parser.add_argument("--data", type=Path, help="keep tables, logs and volumes here")
    parser.add_argument("--result", type=Path, help="add the figures to this file, a line of JSON")
    args = parser.parse_args()
    kinds = [kind for kind in args.only.split(",") if kind] or kinds_for(args.pipeline)
    say(f"seed {args.seed}: {args.kills} kills, {args.pipeline}")
    with tempfile.TemporaryDirectory(prefix="restow-soak-", ignore_cleanup_errors=True) as temporary:
        directory = (args.data or Path(temporary)).absolute()
        directory.mkdir(parents=True, exist_ok=True)
        figures = soak(args.seed, args.kills, args.pipeline, kinds, args.minutes, directory)
    for line in lines([figures]):
        print(line)
    if args.result:
        with args.result.open("a") as file:
            file.write(f"{json.dumps(asdict(figures))}\n")
    is_well = figures.is_well and figures.has_recovered
    if not is_well:
        print(f"repeat it with: make soak SEED={args.seed} KILLS={args.kills}")
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
