"""Measures the move of a partition alone: pins half of them to the other one of two consumers, again and again.

.venv/bin/python -m bench.moves restow-light --moves 300       on an idle machine
.venv/bin/python -m bench.moves restow-spark --moves 300

`restow bench handover` measures moves when a group grows and shrinks, to consumers that have just started. Here both
are warm, and no decision is waited for. The exit code is 1 if a target is missed.
"""

import argparse
import random
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from bench.large_groups import write_between_marks

from restow.clock import as_iso
from restow.handover import group
from restow.handover.contender import TOPIC, Setting
from restow.handover.load import SteadyLoad
from restow.handover.run import FAST, SLOW, START_WITHIN_S, Observer, make_topic
from restow.kafka.channels.publisher import Publisher
from restow.kafka.channels.services import WRITTEN_WITHIN_S
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.model import ConsumerId, TopicPartition
from restow.protocol.messages.desired import PartitionPin
from restow.protocol.records import encode, key_of
from restow.scratch import temporary
from restow.settings import Kafka, Settings, read_settings
from restow.study.handover import LIGHT, SPARK, Change, Move, moves_in, of_partitions, quantile

TARGETS_S: Final = {LIGHT: 0.1, SPARK: 0.3}
CALM_S: Final = {LIGHT: 1.5, SPARK: 3.0}
PAGE: Final = Path("docs/handover.md")
MARKS: Final = ("<!-- bench/moves.py begin -->", "<!-- bench/moves.py end -->")
CAPACITIES: Final = 0.6
"""The base load: one consumer could carry all of it, so that no pin is refused."""


def pins(dice: random.Random, partitions: int) -> Iterator[dict[TopicPartition, ConsumerId]]:
    """Some partitions, each with another consumer than before."""
    owner = dict.fromkeys(range(partitions), 1)
    while True:
        chosen = dice.sample(range(partitions), partitions // 2)
        owner |= {number: 3 - owner[number] for number in chosen}
        yield {TopicPartition(TOPIC, number): ConsumerId(owner[number]) for number in chosen}


class Pins:
    def __init__(self, settings: Settings) -> None:
        self._group = settings.group.name
        self._publisher = Publisher(settings.kafka, settings.topics.service, WRITTEN_WITHIN_S)

    def write(self, wanted: dict[TopicPartition, ConsumerId]) -> None:
        until = as_iso((datetime.now(UTC) + timedelta(hours=1)).timestamp())
        for partition, consumer in wanted.items():
            pin = PartitionPin(partition, consumer, until, by="bench")
            headers, value = encode(pin, "bench", self._group)
            self._publisher.publish(value, {name: text.decode() for name, text in headers}, key_of(pin))


def measured(name: str, moves: int, seed: int) -> list[Move]:
    found: list[Move] = []
    with temporary("moves") as directory, EmbeddedKafka() as broker:
        setting = Setting(Kafka(broker.bootstrap), SLOW if name == SPARK else FAST, directory)
        make_topic(setting)
        with (
            SteadyLoad(setting.kafka, setting.case) as load,
            group.running(name, setting, load, CAPACITIES) as running,
        ):
            settings = read_settings(running.config.read_text(), str(running.config), {})
            observer = Observer(running, setting.case.partitions, CALM_S[name])
            observer.until_calm(None, within_s=START_WITHIN_S)
            pinned = Pins(settings)
            pinned.write({TopicPartition(TOPIC, n): ConsumerId(1) for n in range(setting.case.partitions)})
            time.sleep(CALM_S[name])
            observer.until_calm(1)
            for wanted in pins(random.Random(seed), setting.case.partitions):
                at_s = time.time()
                pinned.write(wanted)
                observer.until_calm(None, at_s)
                done = moves_in(Change("join", at_s, time.time()), of_partitions(observer.progress))
                found += done
                say(f"{len(found)} moves: {', '.join(f'{each.pause_s:.2f}' for each in done)}")
                if len(found) >= moves:
                    return found
    return found


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("contender", choices=(LIGHT, SPARK), nargs="?", default=LIGHT)
    parser.add_argument("--page", type=Path, nargs="+", help="write the last lines of these outputs into the page")
    parser.add_argument("--moves", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.page:
        write_page(args.page)
        return 0
    pauses = sorted(move.pause_s for move in measured(args.contender, args.moves, args.seed))
    p50, p99, most = (quantile(pauses, share) for share in (0.5, 0.99, 1.0))
    target_s = TARGETS_S[args.contender]
    missed = "" if p99 <= target_s else ", MISSED"
    say(
        f"{args.contender}: {len(pauses)} moves pause for {p50:.3f} s (p50), {p99:.3f} s (p99), {most:.3f} s at most; "
        f"the target is {target_s} s (p99){missed}"
    )
    return int(p99 > target_s)


def write_page(logs: list[Path]) -> None:
    """Writes the last lines of runs into docs/handover.md."""
    lines = [log.read_text().splitlines()[-1] for log in logs]
    write_between_marks(PAGE, "".join(f"    {line}\n" for line in lines), *MARKS)


if __name__ == "__main__":
    sys.exit(main())
