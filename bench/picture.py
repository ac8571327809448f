"""What the group's picture costs the controller, for groups of some sizes. `make bench` runs it.

The real observer and the real publication, on the clock that they would see: a measurement a second, a report of each
consumer every 5 s, a whole picture every 10 s, and in a busy group a change every second. CPU time of this process is
measured, with the encoding and without the compression, which Kafka's client does. docs/picture.md has a run.

Prints a line for each size; the exit code is 1 if 10,000 partitions cost more than 5 % of a core.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from restow.controller.events import Heard, Received, SpeedsMeasured
from restow.controller.state import Rules, State, View
from restow.controller.transitions import Phase, Stage
from restow.model import ConsumerId, SortedMapping, Speeds, TopicPartition
from restow.picture.lag import Clock
from restow.picture.observer import Observer
from restow.picture.publication import Publication
from restow.protocol.field_types import Offsets
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.topic_service import TopicService
from restow.settings import Consumer

PARTITIONS = (1_000, 10_000, 50_000)
TOPIC = 50
"""Partitions of a topic."""
PER_CONSUMER = 20
SPEED_BYTES_PER_S = 1_000.0
RECORDS_PER_S = 10
REPORT_S, WHOLE_S = 5, 10
SECONDS = 40
TARGET_PARTITIONS, TARGET_SHARE = 10_000, 0.05
BEGINNING = datetime(2026, 3, 1, tzinfo=UTC)


class Group:
    """A group in which nothing moves. In a busy one a consumer enters another phase every second."""

    def __init__(self, partitions: int, per_consumer: int = PER_CONSUMER) -> None:
        self.partitions = [TopicPartition(f"topic-{at // TOPIC}", at % TOPIC) for at in range(partitions)]
        held: dict[ConsumerId, list[TopicPartition]] = {}
        for at, partition in enumerate(self.partitions):
            held.setdefault(ConsumerId(1 + at // per_consumer), []).append(partition)
        capacity = 1.2 * per_consumer * SPEED_BYTES_PER_S
        topics = dict.fromkeys({partition.topic for partition in self.partitions}, TopicService("lake/table"))
        rules = Rules(consumer=Consumer(capacity_bytes_per_s=capacity), consume=SortedMapping(topics))
        speeds = Speeds(dict.fromkeys(self.partitions, SPEED_BYTES_PER_S))
        rates = dict.fromkeys(self.partitions, float(RECORDS_PER_S))
        self.measured = SpeedsMeasured("2026-03-01T00:00:00.000Z", speeds, SortedMapping(rates))
        self.held = {consumer: tuple(each) for consumer, each in held.items()}
        self.state = State(
            rules,
            stage=Stage.SENTINEL,
            epoch=7,
            now_s=0.0,
            known=frozenset(self.partitions),
            measured=self.measured,
            consumers={
                consumer: View(Phase.READY, 0.0, 0.0, incarnation=1, held=frozenset(each), has_reported_holdings=True)
                for consumer, each in self.held.items()
            },
        )

    def ends(self, second: int) -> dict[TopicPartition, int]:
        return dict.fromkeys(self.partitions, 1_000 + RECORDS_PER_S * second)

    def reports(self, second: int) -> Received:
        """The consumers whose turn it is, each a second behind."""
        turn = [consumer for consumer in self.held if consumer % REPORT_S == second % REPORT_S]
        return Received(tuple(Heard(second, self._report(consumer, second)) for consumer in turn))

    def _report(self, consumer: ConsumerId, second: int) -> ConsumerReport:
        held = self.held[consumer]
        at: Offsets = SortedMapping(dict.fromkeys(held, 1_000 + RECORDS_PER_S * (second - 1)))
        lag: Offsets = SortedMapping(dict.fromkeys(held, RECORDS_PER_S))
        rate = float(RECORDS_PER_S * len(held))
        return ConsumerReport(consumer, 1, lag, SortedMapping(), rate, rate * 100, False, 0.5, 1.0, next_offsets=at)


class Cost:
    """CPU seconds, by what they were spent on."""

    def __init__(self) -> None:
        self.measurement_s, self.picture_s, self.wholes, self.bytes = 0.0, 0.0, 0, 0

    @property
    def share(self) -> float:
        return (self.measurement_s + self.picture_s) / SECONDS


class Controller:
    """What the controller's process does for its picture, second by second."""

    def __init__(self, partitions: int) -> None:
        self._group, self.cost = Group(partitions), Cost()
        self._observer, self._publication = Observer("bench", "bench", at(0)), Publication()
        self._state = self._group.state

    def lives(self, second: int, *, is_busy: bool) -> None:
        reports, ends = self._group.reports(second), self._group.ends(second)
        clock = Clock(float(second), (BEGINNING + timedelta(seconds=second)).timestamp())
        before, self._state = self._state, self._after(second, is_busy=is_busy)
        began_s = time.process_time()
        self._observer.measured(clock.monotonic_s, ends, clock.wall_s)
        self._observer.follow(before, reports, (), self._state, at(second))
        measured_s = time.process_time()
        size = self._publish(clock, at(second))
        self.cost.measurement_s += measured_s - began_s
        self.cost.picture_s += time.process_time() - measured_s
        if second % WHOLE_S == 0:
            self.cost.wholes, self.cost.bytes = self.cost.wholes + 1, size

    def _after(self, second: int, *, is_busy: bool) -> State:
        state = replace(self._state, now_s=float(second), listened_s=float(second))
        if not is_busy:
            return state
        first = replace(state.consumers[ConsumerId(1)], phase=Phase.RESTARTED if second % 2 else Phase.READY)
        return replace(state, consumers={**state.consumers, ConsumerId(1): first})

    def _publish(self, clock: Clock, now: str) -> int:
        """The bytes published."""
        is_whole = self._publication.is_whole_due(clock.monotonic_s)
        draw = self._observer.draw if is_whole else self._observer.draw_change
        chronicle, state = self._observer.chronicle, self._state
        records = self._publication.due(state, chronicle, clock.monotonic_s, lambda: draw(state, clock, now))
        return sum(len(record.value) for record in records)


def cost_of(partitions: int, *, is_busy: bool) -> Cost:
    controller = Controller(partitions)
    for second in range(SECONDS):
        controller.lives(second, is_busy=is_busy)
    return controller.cost


def at(second: int) -> str:
    return f"{(BEGINNING + timedelta(seconds=second)).isoformat(timespec='milliseconds').removesuffix('+00:00')}Z"


def lines(sizes: tuple[int, ...]) -> Iterator[tuple[bool, str]]:
    for partitions in sizes:
        quiet, busy = cost_of(partitions, is_busy=False), cost_of(partitions, is_busy=True)
        is_met = partitions != TARGET_PARTITIONS or quiet.share <= TARGET_SHARE
        cells = (
            f"{partitions:,}",
            f"{1000 * quiet.picture_s / quiet.wholes:.0f} ms, {quiet.bytes / 1000:,.0f} kB",
            f"{1000 * quiet.measurement_s / SECONDS:.1f} ms",
            f"{100 * quiet.share:.1f} %",
            f"{100 * busy.share:.1f} %",
        )
        yield is_met, f"| {' | '.join(cells)} |\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=lambda text: tuple(map(int, text.split(","))), default=PARTITIONS)
    options = parser.parse_args()
    sys.stdout.write("| partitions | a whole picture | a measurement | of a core, quiet | of a core, busy |\n")
    sys.stdout.write("|---|---|---|---|---|\n")
    missed = False
    for is_met, line in lines(options.partitions):
        missed = missed or not is_met
        sys.stdout.write(line)
        sys.stdout.flush()
    if missed:
        sys.stdout.write(f"MISSED: {TARGET_PARTITIONS:,} partitions cost more than {TARGET_SHARE:.0%} of a core\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
