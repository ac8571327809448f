"""The meter against a model of a log: whatever happens to it, no more is reported than was written."""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.examples import examples

from restow.model import TopicPartition
from restow.monitor.meter import Meter, MeterReading, MeterSettings
from restow.monitor.sample import PartitionSample, Sample

P0 = TopicPartition("orders", 0)


@dataclass
class Log:
    """Three replicas, each with records of its own to be deleted or compacted away, and all that was ever written."""

    records: int = 0
    written: int = 0
    start: int = 0
    leader: int = 1
    readable: bool = True
    sizes: dict[int, list[int]] = field(default_factory=lambda: {1: [], 2: [], 3: []})

    def append(self, sizes: list[int]) -> None:
        self.records += len(sizes)
        self.written += sum(sizes)
        for replica in self.sizes.values():
            replica.extend(sizes)

    def delete(self, count: int) -> None:
        kept = self.sizes[self.leader]
        del kept[: min(count, len(kept))]
        self.start = self.records - len(kept)

    def compact(self, share: int) -> None:
        kept = self.sizes[self.leader]
        self.sizes[self.leader] = [size for index, size in enumerate(kept) if index % share == 0]

    def look(self) -> PartitionSample:
        size = sum(self.sizes[self.leader]) if self.readable else None
        return PartitionSample(self.records, size, self.start, self.leader)


def happenings(record: st.SearchStrategy[int]) -> st.SearchStrategy[list[tuple[str, object]]]:
    return st.lists(
        st.one_of(
            st.tuples(st.just("append"), st.lists(record, min_size=1, max_size=20)),
            st.tuples(st.just("delete"), st.integers(1, 30)),
            st.tuples(st.just("compact"), st.integers(2, 4)),
            st.tuples(st.just("lead"), st.sampled_from([1, 2, 3])),
            st.tuples(st.just("readable"), st.booleans()),
        ),
        max_size=4,
    )


def happen(log: Log, what: str, value: object) -> None:
    match what, value:
        case "append", list():
            log.append(value)
        case "delete", int():
            log.delete(value)
        case "compact", int():
            log.compact(value)
        case "lead", int():
            log.leader = value
        case "readable", bool():
            log.readable = value


def run(seconds: list[list[tuple[str, object]]], window_s: float = 5.0) -> list[tuple[MeterReading, int, int]]:
    """Each measurement, with the bytes and records that were really written in its window."""
    log, meter = Log(), Meter(MeterSettings(window_s=window_s))
    meter.take(Sample.of(0.0, {P0: log.look()}))
    history, found = [(0, 0)], []
    for second, events in enumerate(seconds, start=1):
        for what, value in events:
            happen(log, what, value)
        history.append((log.written, log.records))
        measurement = meter.take(Sample.of(float(second), {P0: log.look()}))
        assert measurement is not None
        written, records = history[second - round(measurement.window_s)]
        found.append((measurement, log.written - written, log.records - records))
    return found


ALL_SIZES = st.lists(happenings(st.integers(1, 5000)), min_size=1, max_size=25)
ONE_SIZE = st.lists(happenings(st.just(100)), min_size=1, max_size=25)


@given(ALL_SIZES)
@settings(deadline=None, max_examples=examples(60))
def test_records_are_exact_and_bytes_are_never_negative_nor_above_what_was_written_unless_flagged(
    seconds: list[list[tuple[str, object]]],
) -> None:
    for measurement, written, records in run(seconds):
        assert measurement.records_per_s[0] * measurement.window_s == records
        assert measurement.bytes_per_s[0] >= 0
        assert measurement.filtered_bytes_per_s[0] >= 0
        if not measurement.estimated[0]:
            assert measurement.bytes_per_s[0] * measurement.window_s <= written + 1e-6


@given(ONE_SIZE)
@settings(deadline=None, max_examples=examples(60))
def test_even_an_estimate_is_not_above_what_was_written_when_records_have_one_size(
    seconds: list[list[tuple[str, object]]],
) -> None:
    for measurement, written, _ in run(seconds):
        assert measurement.bytes_per_s[0] * measurement.window_s <= written * (1 + 1e-9)


@given(st.lists(st.lists(st.integers(1, 5000), max_size=20), min_size=1, max_size=25))
@settings(deadline=None, max_examples=examples(60))
def test_no_byte_is_lost_or_made_up_when_records_are_only_appended(appends: list[list[int]]) -> None:
    seconds: list[list[tuple[str, object]]] = [[("append", sizes)] for sizes in appends]
    for measurement, written, _ in run(seconds):
        assert not measurement.estimated[0]
        assert abs(measurement.bytes_per_s[0] * measurement.window_s - written) < 1e-6


@given(st.lists(st.lists(st.integers(1, 5000), max_size=20), min_size=1, max_size=60), st.integers(0, 10**9))
@settings(deadline=None, max_examples=examples(60))
def test_the_filtered_speed_lies_between_the_slowest_and_the_fastest_second(
    appends: list[list[int]], base: int
) -> None:
    log, meter, written = Log(), Meter(), []
    log.written = base
    for second, sizes in enumerate([[], *appends]):
        log.append(sizes)
        written.append(sum(sizes))
        measurement = meter.take(Sample.of(float(second), {P0: PartitionSample(log.records, log.written)}))
        if measurement:
            assert min(written[1:]) - 1e-6 <= measurement.filtered_bytes_per_s[0] <= max(written[1:]) + 1e-6
