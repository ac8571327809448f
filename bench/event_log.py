"""What an hour of the controller's event log takes on disk, for groups of some sizes. `make bench` runs it.

Every partition is written all the time, with Poisson arrivals and skewed rates; the real meter measures them, the real
controller decides, and the real journal writes, as fast as this machine can. Consumers answer at once and report every
5 s. A few minutes are run and an hour is calculated from them. docs/operations.md has the table of a run.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from restow.controller.effects import Effect, ListConsumers, Send
from restow.controller.event_log import entry
from restow.controller.events import ClockTicked, ConsumersListed, Event, Heard, Received, SpeedsMeasured, TookOver
from restow.controller.journal import DAY_S, MB, SEGMENT_S, Journal
from restow.controller.machine import begin, step
from restow.controller.state import Rules
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.monitor.meter import Meter
from restow.monitor.sample import Sample
from restow.packing import warm_up
from restow.platform.interface import CreateConsumer
from restow.protocol.field_types import Offsets
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery, StopConsumingCommand
from restow.protocol.messages.consumer_events import ConsumerReady, StartConsumingEvent, StopConsumingEvent
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.messages.unions import FromConsumer
from restow.protocol.topic_service import TopicService
from restow.settings import Consumer, Controller, EventLog
from restow.text import sized

PARTITIONS = (18, 100, 1_000, 10_000)
TOPIC = 50
"""Partitions of a topic."""
ROUNDS = 5
"""Of the controller, per second."""
REPORT_S = 5
SETTLED_S = 60
"""The log is measured from then on: the meter's window is full, and the group has its size."""
EPOCH = 7


class Load:
    """The cluster: what is written to each partition, and its speed by the meter."""

    def __init__(self, partitions: int, share: float) -> None:
        self._random = np.random.default_rng(1)
        topics = max(1, partitions // TOPIC)
        self.partitions = tuple(sorted(TopicPartition(f"topic-{n % topics}", n // topics) for n in range(partitions)))
        self._rate = self._random.lognormal(3, 1.5, partitions) * (self._random.random(partitions) < share)
        self._record_bytes = self._random.lognormal(6, 0.7, partitions)
        self.ends, self._bytes = np.zeros(partitions, np.int64), np.zeros(partitions, np.int64)
        self._ids = {partition.topic: partition.topic for partition in self.partitions}
        self._meter = Meter()

    @property
    def bytes_per_s(self) -> float:
        return float((self._rate * self._record_bytes).sum())

    def measured(self, second: int) -> SpeedsMeasured | None:
        records = self._random.poisson(self._rate)
        self.ends += records
        self._bytes += (records * self._record_bytes * self._random.normal(1, 0.05, len(records))).astype(np.int64)
        none, ends, sizes = np.zeros_like(self.ends), self.ends.copy(), self._bytes.copy()
        sample = Sample(second + 1.0, self.partitions, self._ids, none + 1, none, ends, sizes, none.astype(np.bool_))
        reading = self._meter.take(sample)
        if reading is None:
            return None
        now = datetime.fromtimestamp(second, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return SpeedsMeasured.from_measurement(reading.to_measurement(now))


@dataclass
class Reader:
    """A consumer that does at once what it is commanded."""

    number: ConsumerId
    incarnation: int
    held: dict[TopicPartition, int] = field(default_factory=dict)
    topics: dict[str, TopicService] = field(default_factory=dict)

    def ready(self) -> ConsumerReady:
        return ConsumerReady(self.number, True, (), SortedMapping(), SortedMapping())

    def answer(self, command: StartConsumingCommand | StopConsumingCommand) -> FromConsumer:
        if isinstance(command, StartConsumingCommand):
            begun = {partition: 0 if at == "recover" else at for partition, at in command.partitions.items()}
            self.held |= begun
            self.topics |= command.topics
            at = SortedMapping[TopicPartition, int](begun)
            return StartConsumingEvent(self.number, self.incarnation, EPOCH, command.sequence, at)
        ended = SortedMapping[TopicPartition, int | None](
            {partition: self.held.pop(partition, None) for partition in command.partitions}
        )
        return StopConsumingEvent(self.number, self.incarnation, EPOCH, command.sequence, ended)

    def report(self, load: dict[TopicPartition, int], random: np.random.Generator) -> ConsumerReport:
        """It is a cycle behind."""
        lag: Offsets = SortedMapping({partition: int(random.integers(0, 30)) for partition in self.held})
        records = sum(load[partition] - self.held[partition] for partition in self.held)
        self.held = {partition: load[partition] for partition in self.held}
        offsets: Offsets = SortedMapping(self.held)
        digests = SortedMapping({topic: self.topics[topic].digest for topic in {p.topic for p in self.held}})
        mean_s = float(random.normal(1, 0.1))
        return ConsumerReport(
            *(self.number, self.incarnation, lag, digests, records / 5.03, 412.7 * records / 5.03),
            *(False, mean_s, mean_s * 1.3),
            next_offsets=offsets,
        )


class Clock:
    """The wall clock of the simulated time."""

    def __init__(self) -> None:
        self.utc_s = 0.0

    def __call__(self) -> float:
        return self.utc_s


class Group:
    def __init__(self, load: Load, journal: Journal, clock: Clock) -> None:
        self._load, self._journal, self._clock = load, journal, clock
        self._random = np.random.default_rng(2)
        capacity = max(load.bytes_per_s / max(2, len(load.partitions) / 50), 1.0)
        rules = Rules(
            Controller(), Consumer(capacity_bytes_per_s=capacity), SortedMapping({"^topic-.*": TopicService("table")})
        )
        self._state = begin(rules)
        self.readers: dict[ConsumerId, Reader] = {}
        self._offset = 100
        self.events, self.plain_bytes, self.writing_s = 0, 0, 0.0

    def live(self, second: int) -> None:
        measured = self._load.measured(second)
        messages = list(self._reports(second))
        for round_ in range(ROUNDS):
            now_s = round(second + round_ / ROUNDS + float(self._random.uniform(0, 0.004)), 3)
            self._clock.utc_s = now_s
            self._happens(ClockTicked(now_s))
            if second == 0 and round_ == 0:
                self._happens(TookOver(EPOCH))
            for message in messages[round_::ROUNDS]:
                self._happens(Received((self._heard(message),)))
        if measured is not None:
            self._happens(measured)

    def snapshot_bytes(self) -> int:
        """The state with which each segment begins."""
        with tempfile.TemporaryDirectory() as directory:
            with Journal(Path(directory)) as journal:
                journal.write(self._state, ClockTicked(self._state.time_s), (), self._state)
            return _size(Path(directory))

    def _reports(self, second: int) -> Iterator[FromConsumer]:
        ends = dict(zip(self._load.partitions, self._load.ends.tolist(), strict=True))
        for reader in self.readers.values():
            if (second + reader.number) % REPORT_S == 0:
                yield reader.report(ends, self._random)

    def _heard(self, message: FromConsumer) -> Heard:
        self._offset += 1
        return Heard(self._offset, message)

    def _happens(self, event: Event) -> None:
        before = self._state
        self._state, effects = step(before, event)
        began_s = time.process_time()
        self._journal.write(before, event, effects, self._state)
        self.writing_s += time.process_time() - began_s
        self.events += 1
        self.plain_bytes += len(entry(event, effects, self._state))
        for effect in effects:
            self._carry_out(effect)

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case ListConsumers():
                self._happens(ConsumersListed(()))
            case CreateConsumer(consumer):
                self.readers[consumer] = Reader(consumer, self._offset + 1)
                self._happens(Received((self._heard(self.readers[consumer].ready()),)))
            case Send(consumer, message) if not isinstance(message, StateQuery):
                self._happens(Received((self._heard(self.readers[consumer].answer(message)),)))
            case _:
                pass


@dataclass(frozen=True)
class Hour:
    partitions: int
    consumers: int
    bytes: float
    plain_bytes: float
    """As version 3 wrote it."""
    writing_s: float

    @property
    def row(self) -> str:
        kept = EventLog()
        days = min(kept.kept_days, kept.kept_mb * MB / self.bytes / 24)
        lasts = f"{days:.0f} days" if days >= 2 else f"{24 * days:.0f} hours"
        figures = (f"{self.partitions:,}", f"{self.consumers:,}", sized(self.bytes), sized(self.plain_bytes))
        days_take = sized(self.bytes * 24 * kept.kept_days)
        return f"| {' | '.join(figures)} | {days_take} | {lasts} | {self.writing_s:.0f} s |"


def measured(partitions: int, seconds: int, share: float) -> Hour:
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory)
        clock = Clock()
        with Journal(log, EventLog(kept_days=DAY_S, kept_mb=100_000), wall_clock=clock) as journal:
            group = Group(Load(partitions, share), journal, clock)
            for second in range(SETTLED_S):
                group.live(second)
            snapshot = group.snapshot_bytes()
            before, plain, writing_s = _size(log), group.plain_bytes, group.writing_s
            for second in range(SETTLED_S, SETTLED_S + seconds):
                group.live(second)
            per_hour = SEGMENT_S / seconds
            return Hour(
                partitions,
                len(group.readers),
                (_size(log) - before) * per_hour + snapshot,
                (group.plain_bytes - plain) * per_hour,
                (group.writing_s - writing_s) * per_hour,
            )


def _size(log: Path) -> int:
    return sum(file.stat().st_size for file in log.iterdir())


def main() -> int:
    options = arguments()
    warm_up()
    print_line(
        "| partitions | consumers | an hour | in version 3 | 14 days | kept with the defaults | CPU for an hour |"
    )
    print_line("|---|---|---|---|---|---|---|")
    for partitions in options.partitions:
        print_line(measured(partitions, options.seconds, options.share).row)
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure what an hour of the controller's event log takes on disk.")
    parser.add_argument("partitions", nargs="*", type=int, default=list(PARTITIONS))
    parser.add_argument("--seconds", type=int, default=120, help="simulated seconds that are measured (default: 120)")
    parser.add_argument("--share", type=float, default=1.0, help="of the partitions that are written (default: 1)")
    return parser.parse_args()


def print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
