"""A day in bounded memory, in any order."""

import json
import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.examples import examples
from tests.support.picture_driver import pair

from restow.clock import as_iso
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.page.history import KEPT_S, History
from restow.page.samples import Sample, Sampler
from restow.picture.picture import Decision, Lag, PartitionStatus, Picture
from restow.protocol.measurement import Measurement, PartitionSpeed

NOON = 1_772_366_400.0
A0 = TopicPartition("a", 0)
TWO_CONSUMERS = pair().picture()


def drawn(at_s: float, lag: int = 0, consumer: int = 1, partitions: int = 1) -> Picture:
    picture = TWO_CONSUMERS
    row = PartitionStatus(ConsumerId(consumer), None, 100.0, Lag(lag, lag / 10))
    rows = SortedMapping[TopicPartition, PartitionStatus](
        {TopicPartition("a", number): row for number in range(partitions)}
    )
    overview = replace(picture.overview, time=as_iso(NOON + at_s), decisions=())
    return replace(picture, overview=overview, partitions=SortedMapping(rows))


def day(*pictures: Picture, most_rows: int = 1_000_000) -> History:
    history, sampler = History(most_rows), Sampler()
    for picture in pictures:
        history.add(sampler.sampled(picture))
    return history


def test_a_series_has_the_worst_lag_of_each_interval_and_null_where_nothing_is_known() -> None:
    history = day(*(drawn(at, lag) for at, lag in [(0, 1), (10, 70), (20, 3), (60, 5)]))
    series = history.series(NOON, NOON + 90, points=3)
    assert series["times"] == [as_iso(NOON), as_iso(NOON + 30), as_iso(NOON + 60)]
    assert series["lag_records"] == [70, None, 5]
    assert series["lag_seconds_max"] == [7.0, None, 0.5]
    assert (series["consumers"], series["ready"]) == ([2, None, 2], [2, None, 2])
    assert (series["load_bytes_per_s"], series["capacity_bytes_per_s"]) == ([100.0, None, 100.0], [200.0, None, 200.0])


def test_a_time_without_a_controller_has_the_speeds_that_the_monitor_measured() -> None:
    history = day(drawn(0, 1))
    speeds = {A0: 250.0, TopicPartition("b", 0): 50.0}
    measured = {each: PartitionSpeed(speed, speed, 1.0, 7, None, False) for each, speed in speeds.items()}
    history.add(Sampler().measured(Measurement(as_iso(NOON + 300), 30.0, SortedMapping(measured))))
    series = history.series(NOON, NOON + 600, points=2)
    assert series["load_bytes_per_s"] == [100.0, 300.0]
    assert (series["consumers"], series["capacity_bytes_per_s"], series["lag_records"]) == (
        [2, None],
        [200.0, None],
        [1, None],
    )
    of_partition = history.of_partition(A0)
    assert (of_partition["speeds"], of_partition["places"]) == ([100.0, 250.0], [1, None])


def test_intervals_are_not_shorter_than_pictures_are_apart() -> None:
    assert len(day(drawn(0)).series(NOON, NOON + 60, points=2000)["times"]) == 6


def test_a_partition_keeps_its_consumers_speeds_and_lags() -> None:
    history = day(drawn(0, 4, consumer=1), drawn(10, 5, consumer=2))
    assert history.of_partition(A0) == {
        "times": [as_iso(NOON), as_iso(NOON + 10)],
        "speeds": [100.0, 100.0],
        "lag_records": [4, 5],
        "lag_seconds": [0.4, 0.5],
        "places": [1, 2],
    }
    assert history.of_partition(TopicPartition("a", 9))["times"] == []
    assert history.of_consumer(ConsumerId(1))["places"] == [2, 2]


def test_what_is_older_than_a_day_is_forgotten() -> None:
    old = replace(drawn(0), overview=replace(drawn(0).overview, decisions=(Decision(as_iso(NOON), "", "old"),)))
    history = day(old, drawn(600), drawn(KEPT_S + 600))
    assert history.since_s == NOON + 600
    assert history.decisions() == ()
    assert len(history.of_partition(A0)["times"]) == 2


def test_decisions_of_many_pictures_are_kept_once_newest_first() -> None:
    first, second = Decision(as_iso(NOON), "load", "1 -> 2"), Decision(as_iso(NOON + 5), "load", "2 -> 3")
    pictures = [
        replace(drawn(at), overview=replace(drawn(at).overview, decisions=decisions))
        for at, decisions in [(1.0, (first,)), (6.0, (second, first))]
    ]
    assert day(*pictures).decisions() == (second, first)
    assert day(*pictures).decisions(NOON + 1, NOON + 9) == (second,)


def test_a_day_of_many_partitions_is_bounded_and_keeps_its_span_and_its_worst_lag() -> None:
    worst = 3_000
    pictures = [drawn(10.0 * n, lag=99 if n == worst else 1, partitions=50) for n in range(0, 8640, 10)]
    history = day(*pictures, most_rows=10_000)
    assert history._rows <= 10_000
    lists = history.of_partition(A0)
    assert len(lists["times"]) > 50
    assert max(lists["lag_records"]) == 99
    assert (lists["times"][0][:13], lists["times"][-1][:13]) == (as_iso(NOON)[:13], as_iso(NOON + 86_300)[:13])


@settings(max_examples=examples(30))
@given(st.lists(st.integers(0, 500), min_size=1, max_size=40, unique=True), st.randoms(use_true_random=False))
def test_the_order_of_reading_changes_nothing(times: list[int], shuffle: random.Random) -> None:
    sampler = Sampler()
    samples: list[Sample] = [sampler.sampled(drawn(10.0 * at, lag=at)) for at in times]
    ordered, shuffled = History(20), History(20)
    for sample in sorted(samples, key=lambda each: each.time_s):
        ordered.add(sample)
    shuffle.shuffle(samples)
    for sample in samples:
        shuffled.add(sample)
    assert ordered.series(NOON, NOON + 6000, 100) == shuffled.series(NOON, NOON + 6000, 100)
    assert ordered.of_partition(A0) == shuffled.of_partition(A0)


def test_everything_is_json() -> None:
    history = day(drawn(0), replace(drawn(10), partitions=SortedMapping({A0: PartitionStatus(None, None, None)})))
    assert "NaN" not in json.dumps([history.series(NOON, NOON + 60, 6), history.of_partition(A0)])
    assert history.of_partition(A0)["speeds"] == [100.0, None]
