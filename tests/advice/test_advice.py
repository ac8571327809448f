"""Advice about a group, from looks at it and from readings of the real meter."""

from collections.abc import Mapping, Sequence

import pytest

from restow.advice.advice import Advice, advice_for
from restow.advice.capacity import capacity_of
from restow.advice.facts import GroupFacts
from restow.advice.sentences import observations, verdict
from restow.advice.watching import Watching
from restow.errors import RestowError
from restow.model import ConsumerId, TopicPartition
from restow.monitor.group_look import GroupLook, Member
from restow.monitor.meter import Meter
from restow.monitor.sample import PartitionSample, Sample
from restow.packing import PACKERS
from restow.settings import Controller

RECORD = 1000
SECONDS = 20

Rates = Mapping[int, float]
"""Records a second by the number of the partition."""


def partition(number: int) -> TopicPartition:
    return TopicPartition("orders", number)


def watched(
    written: Rates,
    members: Sequence[Sequence[int]],
    read: Rates | None = None,
    first_lag: Rates | None = None,
    assignor: str = "range",
) -> GroupFacts:
    """A watch of some seconds. `read` is as much as `written` if it is not given."""
    read, first_lag = read or written, first_lag or {}
    watching, meter = Watching("payments"), Meter()
    described = tuple(
        Member(f"app-{place}-0123456789", f"app-{place}", "10.0.0.1", tuple(partition(each) for each in held))
        for place, held in enumerate(members)
    )
    for second in range(SECONDS + 1):
        ends = {partition(each): round(100_000 + rate * second) for each, rate in written.items()}
        sample = Sample.of(
            float(second), {each: PartitionSample(end, size_bytes=end * RECORD) for each, end in ends.items()}
        )
        reading = meter.take(sample)
        if reading is not None:
            watching.add_reading(reading)
        if second in (0, SECONDS):
            committed = {
                partition(each): round(100_000 - first_lag.get(each, 0.0) + rate * second)
                for each, rate in read.items()
            }
            watching.add_look(GroupLook(float(second), "stable", "classic", assignor, described, committed, ends))
    return watching.facts()


def advised(facts: GroupFacts, capacity: float | None = None, price: float | None = None) -> Advice:
    found = capacity_of(facts, capacity, 2e6)
    return advice_for(facts, found, Controller(), PACKERS["restow"], lag_threshold=10, price_per_hour=price)


def way(advice: Advice, name: str) -> tuple[int, int, int]:
    """Consumers, idle and overloaded ones."""
    [found] = [each for each in advice.ways if each.name == name]
    return found.consumers, found.idle, found.overloaded


SKEWED = {0: 300.0, 1: 120.0, 2: 60.0, 3: 30.0, 4: 20.0, 5: 10.0}


def test_spare_and_idle_members_are_counted_and_priced() -> None:
    advice = advised(watched(SKEWED, [[0], [1], [2], [3], [4], [5], [], []]), capacity=400_000, price=0.1)
    assert (advice.needed, advice.spare, len(advice.idle)) == (2, 6, 2)
    first, *others = verdict(advice)
    assert first == (
        "The load needs 2 consumers; the group has 8: 6 too many, 4,380 consumer-hours a month, which cost 438.00."
    )
    idle = "2 members have no partition and read nothing: 1,460 consumer-hours a month, which cost 146.00."
    assert idle in others


def test_count_based_assignors_need_more_than_restow_where_partitions_differ() -> None:
    advice = advised(watched(SKEWED, [[0, 1, 2], [3, 4, 5]]), capacity=400_000)
    assert way(advice, "now") == (2, 0, 1)
    assert way(advice, "restow") == (2, 0, 0)
    assert way(advice, "Kafka, range") == (6, 0, 0)
    words = "Kafka's assignors count partitions, whatever their speed: they need"
    assert any(line.startswith(words) for line in verdict(advice))


def test_the_busiest_member_and_the_fastest_partition_are_named() -> None:
    advice = advised(watched(SKEWED, [[0, 1, 2], [3, 4, 5]]), capacity=400_000)
    assert (advice.skew.busiest, advice.skew.fastest) == (ConsumerId(1), partition(0))
    assert advice.skew.times_the_mean == pytest.approx(480 / 270)
    assert advice.skew.is_skewed
    assert advice.skew.fastest_of_capacity == pytest.approx(0.75)
    words = dict(observations(advice))["skew"]
    assert words == (
        "orders-0 is the fastest partition, 55.6 % of the load and 75 % of a consumer; the busiest member carries 1.8 "
        "times the mean"
    )


def test_a_member_with_a_backlog_shows_what_a_consumer_sustains() -> None:
    facts = watched({0: 500.0, 1: 100.0}, [[0], [1]], read={0: 200.0, 1: 100.0}, first_lag={0: 9000})
    capacity = capacity_of(facts, None, 2e6)
    assert capacity.source == "backlog"
    assert capacity.members == (ConsumerId(1),)
    assert capacity.bytes_per_s == pytest.approx(200_000, rel=0.02)
    advice = advised(facts)
    assert advice.too_fast == (partition(0),)
    assert any(line.startswith("orders-0 alone is written faster than one consumer reads") for line in verdict(advice))


def test_without_a_backlog_the_number_is_an_upper_limit_and_the_advice_says_so() -> None:
    advice = advised(watched({0: 100.0, 1: 100.0}, [[0], [1]]))
    assert (advice.capacity.source, advice.capacity.is_at_least) == ("fastest", True)
    lines = list(verdict(advice))
    assert lines[0] == "The load needs at most 2 consumers, as many as the group has."
    assert lines[-1].startswith("No member had a backlog")


def test_restow_adds_consumers_until_a_backlog_is_worked_off() -> None:
    rates = dict.fromkeys(range(4), 100.0)
    lag = dict.fromkeys(range(4), 60_000.0)
    advice = advised(watched(rates, [[0, 1, 2, 3]], first_lag=lag), capacity=500_000)
    assert advice.needed == 1
    assert way(advice, "restow")[0] > 1
    assert way(advice, "KEDA")[0] == 4


def test_a_group_without_members_is_advised_from_its_offsets() -> None:
    advice = advised(watched(SKEWED, []), capacity=400_000)
    assert advice.needed == 2
    assert dict(observations(advice))["members"] == "none: the group is stable, and nothing reads for it now"
    assert next(verdict(advice)) == "The load needs 2 consumers; the group has no members."
    assert "now" not in [each.name for each in advice.ways]


def test_a_group_that_nothing_is_written_for_gets_no_verdict_on_its_size() -> None:
    advice = advised(watched({0: 0.0}, [[0]]))
    assert list(verdict(advice)) == [
        "Nothing was written during the watch: one consumer is enough, or none. Watch at a busy hour."
    ]


def test_a_lag_that_grows_is_told_from_the_noise_of_commits() -> None:
    growing = advised(watched({0: 500.0}, [[0]], read={0: 200.0}), capacity=1e6)
    assert dict(observations(growing))["lag"] == "6,000 records, 12 s of writing; it grew by 300 records/s"
    steady = advised(watched({0: 500.0}, [[0]], first_lag={0: 100}), capacity=1e6)
    assert dict(observations(steady))["lag"] == "100 records, 0.2 s of writing; steady"


def test_a_rebalance_during_the_watch_is_noticed() -> None:
    watching = Watching("payments")
    for second, client in ((0, "one"), (5, "two")):
        member = Member(client, client, "10.0.0.1", (partition(0),))
        watching.add_look(GroupLook(float(second), "stable", "classic", "range", (member,), {}, {}))
    with pytest.raises(RestowError, match="too short"):
        watching.facts()
    meter = Meter()
    for second in range(3):
        end = 10 * second
        reading = meter.take(Sample.of(float(second), {partition(0): PartitionSample(end, end * RECORD)}))
        if reading is not None:
            watching.add_reading(reading)
    assert watching.facts().has_rebalanced
    assert watching.facts().without_offset == (partition(0),)
