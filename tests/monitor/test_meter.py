"""The meter on samples worked out by hand: what was written, whatever else happened to the log."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from restow.errors import InvalidInput
from restow.model import TopicPartition
from restow.monitor.meter import Meter, MeterReading, MeterSettings
from restow.monitor.sample import NO_ANSWER, UNREADABLE, PartitionSample, Sample

P0, P1, P2 = (TopicPartition("orders", number) for number in range(3))
OTHER = TopicPartition("payments", 0)
FIRST, SECOND = {"orders": "id-1"}, {"orders": "id-2"}


def look(records: int, size: int | None, start: int = 0, leader: int = 1) -> PartitionSample:
    return PartitionSample(records, size, start, leader)


def measured(samples: Iterable[Sample], settings: MeterSettings | None = None) -> MeterReading:
    meter, last = Meter(settings), None
    for sample in samples:
        last = meter.take(sample)
    assert last is not None
    return last


def of_one(*looks: PartitionSample) -> tuple[float, float, bool]:
    """Bytes/s, records/s and whether it is an estimate, from looks at one partition that are 1 s apart."""
    found = measured(Sample.of(float(second), {P0: one}) for second, one in enumerate(looks))
    return round(float(found.bytes_per_s[0]), 6), float(found.records_per_s[0]), bool(found.estimated[0])


def test_the_speed_is_what_was_written_by_the_time_it_took() -> None:
    found = measured(
        [
            Sample.of(10.0, {P0: look(5, 500), P1: look(7, 70)}),
            Sample.of(12.0, {P0: look(9, 900), P1: look(7, 70)}),
        ]
    )
    assert found.window_s == 2
    assert found.partitions == (P0, P1)
    assert found.bytes_per_s.tolist() == found.filtered_bytes_per_s.tolist() == [200, 0]
    assert found.records_per_s.tolist() == [2, 0]
    assert (found.end_offset.tolist(), found.size_bytes.tolist()) == ([9, 7], [900, 70])
    assert found.estimated.tolist() == [False, False]


def test_without_log_sizes_the_size_of_records_that_were_read_is_used() -> None:
    samples = [
        Sample.of(0.0, {P0: look(5, None), OTHER: look(5, 500)}),
        Sample.of(1.0, {P0: look(9, None), OTHER: look(9, 900)}),
    ]
    found = measured(replace(sample, record_bytes={P0: 30.0}) for sample in samples)
    assert found.bytes_per_s.tolist() == [120, 400]
    assert found.estimated.tolist() == [True, False]


def test_one_sample_is_no_measurement() -> None:
    assert Meter().take(Sample.of(0.0, {P0: look(5, 500)})) is None


def test_only_the_window_counts() -> None:
    sizes = [0, 9000, 9010, 9020, 9030]
    found = measured(
        (Sample.of(10.0 * second, {P0: look(size, size)}) for second, size in enumerate(sizes)),
        MeterSettings(window_s=30),
    )
    assert (found.window_s, found.bytes_per_s[0]) == (30, 1)


def test_retention_deletes_segments_and_the_speed_stays() -> None:
    looks = [
        look(10, 1000),
        look(20, 2000),
        look(30, 1500, start=15),
        look(40, 2500, start=15),
        look(50, 3500, start=15),
    ]
    assert of_one(*looks) == (1000, 10, True)


def test_retention_that_shows_first_in_the_offsets_and_then_in_the_size_costs_nothing() -> None:
    looks = [look(10, 10_000), look(20, 20_000), look(30, 30_000, start=5), look(40, 35_000, start=5)]
    assert of_one(*looks) == (10_000, 10, True)


def test_a_compacted_log_shrinks_while_it_is_written() -> None:
    assert of_one(look(10, 1000), look(20, 2000), look(30, 700), look(40, 1700)) == (1000, 10, True)


def test_a_log_that_shrinks_while_nothing_is_written_is_idle_and_that_is_no_estimate() -> None:
    assert of_one(look(10, 1000), look(10, 400), look(10, 400)) == (0, 0, False)


def test_the_size_of_a_new_leader_is_not_compared_with_the_old_ones() -> None:
    looks = [look(10, 1000), look(20, 2000), look(30, 9000, leader=2), look(40, 10_000, leader=2)]
    assert of_one(*looks) == (1000, 10, True)


def test_a_size_that_cannot_be_read_is_estimated_from_the_records() -> None:
    looks = [look(10, 1000), look(20, 2000), look(30, None), look(40, None)]
    assert of_one(*looks) == (1000, 10, True)
    assert measured(Sample.of(float(s), {P0: one}) for s, one in enumerate(looks)).size_bytes.tolist() == [UNREADABLE]


def test_a_log_that_was_empty_had_no_bytes_on_any_broker() -> None:
    assert of_one(look(0, None), look(10, 1000)) == (1000, 10, False)
    assert of_one(look(0, 0, leader=1), look(10, 1000, leader=2)) == (1000, 10, False)


def test_a_partition_that_was_never_readable_is_estimated_by_its_topic() -> None:
    found = measured(
        [
            Sample.of(0.0, {P0: look(0, 0), P1: look(0, None), P2: look(0, 0), OTHER: look(0, 0)}),
            Sample.of(1.0, {P0: look(10, 500), P1: look(4, None), P2: look(10, 1500), OTHER: look(1, 9)}),
            Sample.of(2.0, {P0: look(20, 1000), P1: look(8, None), P2: look(20, 3000), OTHER: look(2, 18)}),
        ]
    )
    # In the first second nothing is known of the records of orders; from then on they have 100 bytes in the mean.
    assert found.bytes_per_s.tolist() == [500, pytest.approx(200), 1500, 9]
    assert found.estimated.tolist() == [False, True, False, False]


def test_the_log_on_disk_gives_the_size_of_records_when_nothing_else_does() -> None:
    assert of_one(look(100, 5000), look(110, 800, start=100)) == (500, 10, True)


def test_a_partition_that_is_added_starts_at_nothing_and_leaves_the_others_alone() -> None:
    meter = Meter()
    meter.take(Sample.of(0.0, {P1: look(0, 0)}))
    meter.take(Sample.of(1.0, {P1: look(1, 10)}))
    found = meter.take(Sample.of(2.0, {P0: look(50, 5000), P1: look(2, 20), P2: look(0, 0)}))
    assert found is not None
    assert found.bytes_per_s.tolist() == [0, 10, 0]
    assert found.estimated.tolist() == [True, False, True]
    found = meter.take(Sample.of(3.0, {P0: look(60, 6000), P1: look(3, 30), P2: look(0, 0)}))
    assert found is not None
    assert found.bytes_per_s.tolist() == [1000, 10, 0]
    assert found.estimated.tolist() == [False, False, False]


def test_a_deleted_topic_leaves_the_measurement() -> None:
    found = measured(
        [
            Sample.of(0.0, {P0: look(0, 0), OTHER: look(0, 0)}),
            Sample.of(1.0, {P0: look(0, 0), OTHER: look(1, 10)}),
            Sample.of(2.0, {OTHER: look(2, 20)}),
        ]
    )
    assert (found.partitions, found.bytes_per_s.tolist()) == ((OTHER,), [10])


@pytest.mark.parametrize("offset_after", [3, 10, 5000])
def test_a_recreated_topic_has_no_past(offset_after: int) -> None:
    meter = Meter()
    meter.take(Sample.of(0.0, {P0: look(0, 0)}, FIRST))
    meter.take(Sample.of(1.0, {P0: look(10, 1000)}, FIRST))
    found = meter.take(Sample.of(2.0, {P0: look(offset_after, 50_000)}, SECOND))
    assert found is not None
    assert (found.bytes_per_s.tolist(), found.estimated.tolist()) == ([0], [True])
    found = meter.take(Sample.of(3.0, {P0: look(offset_after + 1, 50_007)}, SECOND))
    assert found is not None
    assert (found.bytes_per_s.tolist(), found.records_per_s.tolist(), found.estimated.tolist()) == ([7], [1], [False])


def test_offsets_that_fall_mean_the_same_where_no_id_is_known() -> None:
    looks = [look(10, 1000), look(20, 2000), look(5, 500), look(6, 570)]
    assert of_one(*looks) == (70, 1, False)


def test_a_partition_without_an_answer_is_left_out_and_its_next_speed_spans_the_gap() -> None:
    meter = Meter()
    meter.take(Sample.of(0.0, {P0: look(0, 0), P1: look(0, 0)}))
    meter.take(Sample.of(1.0, {P0: look(1, 100), P1: look(1, 10)}))
    silent = meter.take(Sample.of(2.0, {P0: look(NO_ANSWER, None), P1: look(2, 20)}))
    assert silent is not None
    assert (silent.partitions, silent.bytes_per_s.tolist()) == ((P1,), [10])
    back = meter.take(Sample.of(4.0, {P0: look(7, 700), P1: look(4, 40)}))
    assert back is not None
    assert (back.bytes_per_s.tolist(), back.records_per_s.tolist()) == ([175, 10], [1.75, 1])
    assert back.estimated.tolist() == [False, False]


def test_a_partition_silent_for_longer_than_the_window_starts_over() -> None:
    meter = Meter(MeterSettings(window_s=3))
    meter.take(Sample.of(0.0, {P0: look(0, 0), P1: look(NO_ANSWER, None)}))
    for second in range(1, 5):
        meter.take(Sample.of(float(second), {P0: look(NO_ANSWER, None), P1: look(0, 0)}))
    back = meter.take(Sample.of(5.0, {P0: look(9000, 900_000), P1: look(0, 0)}))
    assert back is not None
    assert (back.bytes_per_s.tolist(), back.estimated.tolist()) == ([0, 0], [True, False])


def test_after_a_pause_within_the_window_the_mean_spans_it() -> None:
    seconds = {0: 0, 1: 100, 21: 2100, 22: 2200}
    found = measured(Sample.of(float(second), {P0: look(size, size)}) for second, size in seconds.items())
    assert (found.window_s, found.bytes_per_s[0]) == (22, 100)


def test_after_a_pause_longer_than_the_window_the_meter_starts_over() -> None:
    meter = Meter()
    meter.take(Sample.of(0.0, {P0: look(0, 0)}))
    meter.take(Sample.of(1.0, {P0: look(1, 100)}))
    assert meter.take(Sample.of(61.0, {P0: look(1, 6100)})) is None
    found = meter.take(Sample.of(62.0, {P0: look(2, 6107)}))
    assert found is not None
    assert (found.window_s, found.bytes_per_s[0]) == (1, 7)


def test_without_partitions_there_is_an_empty_measurement_and_then_a_new_start() -> None:
    meter = Meter()
    meter.take(Sample.of(0.0, {P0: look(0, 0)}))
    empty = meter.take(Sample.of(1.0, {}))
    assert empty is not None
    assert (empty.partitions, empty.bytes_per_s.tolist()) == ((), [])
    assert meter.take(Sample.of(2.0, {P0: look(0, 0)})) is None
    found = meter.take(Sample.of(3.0, {P0: look(1, 5)}))
    assert found is not None
    assert found.bytes_per_s.tolist() == [5]


@pytest.mark.slow
def test_memory_is_bounded_however_often_samples_come() -> None:
    meter = Meter(MeterSettings(window_s=30))
    for tick in range(6_000):  # twice the window
        found = meter.take(Sample.of(tick / 100, {P0: look(tick, 10 * tick)}))
    assert found is not None
    assert len(meter._slots) <= 76
    assert found.bytes_per_s[0] == pytest.approx(1000)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"window_s": 0.0}, "the monitor's window_s is 0.0; it must be a number above 0"),
        ({"threshold": float("nan")}, "the monitor's threshold is nan; it must be a number above 0"),
        ({"smoothing_s": -1.0}, "the monitor's smoothing_s is -1.0; it must be a number, 0 or more"),
    ],
)
def test_invalid_settings_are_rejected(settings: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        MeterSettings(**settings)
    assert str(refused.value) == message
