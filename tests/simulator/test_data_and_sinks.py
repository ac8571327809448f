"""What producers write, what tables take, and the figures that are made of both."""

import random

import numpy as np
import pytest

from restow.model import ConsumerId, Speeds, TopicPartition
from restow.protocol.field_types import RECOVER
from restow.protocol.topic_service import TopicService
from restow.simulator.data import RECORD_BYTES, Data
from restow.simulator.measures import Histogram, Measures
from restow.simulator.ranges import PendingRange
from restow.simulator.sinks import Sinks
from restow.simulator.workloads import GENERATORS, STEP_S, generated, recorded

A, B = TopicPartition("orders", 0), TopicPartition("orders", 1)
TABLE = TopicService("lake/orders")
ORDINARY = TopicService("lake/orders", refuses_late_writes=False)
LATEST = TopicService("lake/orders", start="latest", refuses_late_writes=False)


@pytest.fixture
def data() -> Data:
    """A at 1 and then 3 records/s, B at 2 throughout."""
    return Data([A, B], RECORD_BYTES * np.array([[1.0, 3.0], [2.0, 2.0]]))


def test_offsets_follow_from_speeds(data: Data) -> None:
    assert [data.end_offset(row, 5.0) for row in (0, 1)] == [5, 10]
    data.advance(STEP_S)
    assert [data.end_offset(row, 15.0) for row in (0, 1)] == [25, 30]
    assert data.end_offsets(15.0).tolist() == [25, 30]


def test_a_record_is_as_old_as_its_offset_says(data: Data) -> None:
    assert [data.written_s(0, offset) for offset in (0, 5, 10, 25)] == [0.0, 5.0, 10.0, 15.0]


def test_a_partition_that_is_added_begins_now(data: Data) -> None:
    new = TopicPartition("orders", 2)
    data.add(new, like=B, now_s=STEP_S - 1)
    data.advance(STEP_S)
    assert data.end_offset(data.index[new], 15.0) == 10


@pytest.mark.parametrize("name", GENERATORS)
def test_a_workload_has_the_mean_it_should_and_whole_numbers(name: str) -> None:
    table = generated(name, random.Random(1), partitions=40, steps=180, mean=1000.0, most=1e6)
    assert table.shape == (40, 180)
    assert table.mean() == pytest.approx(1000, rel=0.01)
    assert (table == np.rint(table)).all()
    assert (table == generated(name, random.Random(1), partitions=40, steps=180, mean=1000.0, most=1e6)).all()
    assert table.min() >= 0


def test_growth_grows_and_a_day_has_a_night() -> None:
    growing = generated("growth", random.Random(1), 40, 180, 1000.0, 1e6).sum(axis=0)
    assert growing[-20:].mean() > 2 * growing[:20].mean()
    day = generated("daily", random.Random(1), 40, 180, 1000.0, 1e6).sum(axis=0)
    assert day[80:100].mean() > 3 * day[:20].mean()


def test_a_trace_begins_again_when_it_is_over() -> None:
    trace = [Speeds({A: 1.0}), Speeds({A: 2.0, B: 5.0})]
    assert recorded(trace, [A, B], steps=7, each=2).tolist() == [[1, 1, 2, 2, 1, 1, 2], [0, 0, 5, 5, 0, 0, 5]]


def test_a_table_takes_what_begins_where_it_ends() -> None:
    sinks = Sinks()
    assert sinks.take(A, TABLE, 0, 10)
    assert not sinks.take(A, TABLE, 0, 10)
    assert not sinks.take(A, TABLE, 11, 20)
    assert sinks.take(A, TABLE, 10, 20)
    assert sinks.position(A, TABLE, 15, end=99) == 20


def test_an_ordinary_sink_takes_everything_and_knows_no_position() -> None:
    sinks = Sinks()
    assert sinks.take(A, ORDINARY, 0, 10)
    assert sinks.take(A, ORDINARY, 0, 10)
    assert sinks.position(A, ORDINARY, 7, end=99) == 7
    sinks.commit({A: 10})
    assert sinks.position(A, ORDINARY, RECOVER, end=99) == 10


def test_an_unread_partition_begins_at_its_topic_s_start_setting_and_stays_there() -> None:
    sinks = Sinks()
    assert sinks.position(A, TABLE, RECOVER, end=50) == 0
    assert sinks.position(B, LATEST, RECOVER, end=50) == 50
    assert sinks.position(B, LATEST, RECOVER, end=80) == 50


def test_a_quantile_is_within_two_per_cent() -> None:
    histogram = Histogram()
    for value in range(1, 1001):
        histogram.add(value / 10, 1)
    assert histogram.quantile(0.5) == pytest.approx(50, rel=0.02)
    assert histogram.quantile(0.99) == pytest.approx(99, rel=0.02)
    assert Histogram().quantile(0.5) == 0.0


def test_latency_is_from_written_to_stored(data: Data) -> None:
    measures = Measures(data)
    measures.stored([PendingRange(A, 0, 0, 8, 0)], planned_s=8.0, now_s=9.0)
    # written evenly from 0 to 8 s and stored at 9 s: in four slices, 2, 4, 6 and 8 s old
    assert [measures.latency.quantile(share) for share in (0.25, 0.5, 1.0)] == pytest.approx([2, 4, 8], rel=0.02)
    assert measures.waiting_records(A, 9.0) == 1
    assert measures.waiting_s(A, 9.0) == 1.0


def test_a_pause_lasts_until_a_consumer_reads_again_and_a_move_changes_the_consumer(data: Data) -> None:
    measures = Measures(data)
    measures.held(A, ConsumerId(1), 1.0)
    measures.released(A, 10.0)
    measures.held(A, ConsumerId(1), 12.0)
    measures.released(A, 20.0)
    measures.held(A, ConsumerId(2), 23.0)
    assert (measures.pauses, measures.moves) == ([2.0, 3.0], 1)
    assert (measures.pause_quantile(0.5), measures.pause_quantile(0.99)) == (3.0, 3.0)
