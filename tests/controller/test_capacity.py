"""Capacities and costs are learned from reports of work: slow to rise, quick to fall, and within bounds."""

import random
from collections.abc import Mapping

import pytest

from restow.controller.capacity import FASTEST, Terms, learn, recall, restarted
from restow.controller.costs import cost_of
from restow.controller.learned import Learned, LearnedCapacity, TopicCost
from restow.model import ConsumerId, SortedMapping
from restow.protocol.messages.reports import ConsumerReport, Work

START = 2e6
TERMS = Terms(START)
ONE, TWO, THREE = (ConsumerId(number) for number in (1, 2, 3))


def report(consumer: ConsumerId, busy_s: float, *, saturated: bool = False, **bytes_by_topic: float) -> ConsumerReport:
    return report_of(consumer, busy_s, bytes_by_topic, saturated)


def report_of(
    consumer: ConsumerId, busy_s: float, bytes_by_topic: Mapping[str, float], saturated: bool = False
) -> ConsumerReport:
    sizes = {topic: int(size) for topic, size in bytes_by_topic.items()}
    work = Work(5, busy_s, SortedMapping(sizes))
    rate = sum(sizes.values()) / busy_s
    return ConsumerReport(
        consumer, 1, SortedMapping(), SortedMapping(), rate / 1000, rate, saturated, 0.5, 0.5, work=work
    )


def after(learned: Learned, rate: float, reports: int, consumer: ConsumerId = ONE, terms: Terms = TERMS) -> Learned:
    for _ in range(reports):
        learned = learn(learned, report(consumer, 4.0, a=4 * rate), terms)
    return learned


def capacity(learned: Learned, consumer: ConsumerId = ONE) -> float:
    return learned.capacities[consumer].bytes_per_s


def test_a_report_without_work_teaches_nothing() -> None:
    silent = ConsumerReport(ONE, 1, SortedMapping(), SortedMapping(), 1.0, 1e9, True, 0.5, 0.5)
    assert learn(Learned(), silent, TERMS) == Learned()


@pytest.mark.parametrize("true", [0.7e6, 1.4e6, 3e6, 20e6])
def test_a_capacity_is_within_15_per_cent_after_five_minutes_of_load(true: float) -> None:
    noise, learned = random.Random(1), Learned()
    for _ in range(60):  # a report every 5 s, of which it worked 4 s
        learned = learn(learned, report(ONE, 4.0, a=4 * true * noise.uniform(0.9, 1.1)), TERMS)
    assert capacity(learned) == pytest.approx(true, rel=0.15)


def test_it_falls_quickly_and_rises_slowly() -> None:
    known = after(Learned(), START, 10)
    fallen, risen = known, after(known, START * 2, 4)
    for _ in range(2):  # the same load takes twice as long
        fallen = learn(fallen, report(ONE, 8.0, a=4 * START), TERMS)
    assert capacity(fallen) < 0.75 * START
    assert START < capacity(risen) < 1.35 * START


def test_no_capacity_falls_below_a_quarter_of_the_start_value() -> None:
    assert capacity(after(Learned(), START / 100, 200)) == START / 4


def test_no_capacity_falls_while_a_scale_up_is_judged() -> None:
    known = after(Learned(), START, 10)
    held = Terms(START, may_fall=False)
    assert capacity(after(known, START / 2, 20, terms=held)) == capacity(known)
    assert capacity(after(known, START * 2, 20, terms=held)) > capacity(known)


def test_smaller_cycles_of_a_quiet_time_are_no_fall() -> None:
    known = after(Learned(), 10e6, 100)
    quiet = known
    for _ in range(50):  # a tenth of the load: fixed costs take most of the time
        quiet = learn(quiet, report(ONE, 2.0, a=4e6), TERMS)
    assert capacity(quiet) == pytest.approx(capacity(known))
    again = restarted(quiet, ONE)
    assert capacity(learn(again, report(ONE, 2.0, a=4e6), TERMS)) < capacity(quiet)


def test_small_cycles_without_a_pause_between_them_are_a_fall() -> None:
    known = after(Learned(), 10e6, 100)
    slow = learn(known, report(ONE, 5.0, saturated=True, a=10e6), TERMS)
    assert capacity(slow) < 0.9 * capacity(known)


def test_a_saturated_consumer_carries_no_more_than_its_throughput_whatever_its_cycles_say() -> None:
    known = after(Learned(), START, 20)
    claim = report(ONE, 0.1, saturated=True, a=8e6)
    boasting = ConsumerReport(ONE, 1, SortedMapping(), SortedMapping(), 1000.0, 1.2e6, True, 0.5, 0.5, work=claim.work)
    for _ in range(20):
        known = learn(known, boasting, TERMS)
    assert capacity(known) < START


def test_one_wrong_report_does_little_harm() -> None:
    known = after(Learned(), START, 20)
    assert capacity(learn(known, report(ONE, 4.0, a=4e15), TERMS)) < 1.1 * capacity(known)
    assert capacity(learn(known, report(ONE, 4.0, a=1), TERMS)) > 0.85 * capacity(known)


def test_a_consumer_that_exaggerates_is_believed_up_to_a_multiple_of_the_others() -> None:
    known = after(after(Learned(), START, 20), START, 20, TWO)
    boasting = after(known, 1e12, 500, THREE)
    assert capacity(boasting, THREE) <= FASTEST * capacity(boasting, ONE) * 1.01


def test_a_new_consumer_begins_with_the_median_of_the_others() -> None:
    known = after(after(Learned(), 4e6, 60), 4e6, 60, TWO)
    first = learn(known, report(THREE, 0.1, a=0.4e6), TERMS)
    assert capacity(first, THREE) == pytest.approx(4e6, rel=0.1)


def work_of(
    rng: random.Random, consumer: ConsumerId, pace: float, costs: Mapping[str, float], mix: Mapping[str, float]
) -> ConsumerReport:
    sizes = {topic: 4e6 * share * rng.uniform(0.7, 1.3) for topic, share in mix.items()}
    busy_s = sum(costs[topic] * size for topic, size in sizes.items()) / pace
    return report_of(consumer, busy_s * rng.uniform(0.97, 1.03), sizes)


MIXES: dict[ConsumerId, dict[str, float]] = {
    ONE: {"heavy": 0.6, "light": 0.4},
    TWO: {"heavy": 0.2, "light": 0.8},
    THREE: {"heavy": 0.3, "light": 0.3, "plain": 0.4},
}


def taught(paces: Mapping[ConsumerId, float], costs: Mapping[str, float], rounds: int, terms: Terms = TERMS) -> Learned:
    rng, learned = random.Random(2), Learned()
    for _ in range(rounds):
        for consumer, mix in MIXES.items():
            learned = learn(learned, work_of(rng, consumer, paces[consumer], costs, mix), terms)
    return learned


def test_a_heavy_transform_is_found_by_regression() -> None:
    costs = {"heavy": 3.0, "light": 1.0, "plain": 1.0}
    learned = taught(dict.fromkeys(MIXES, START), costs, 60)
    found = {topic: each.cost for topic, each in learned.costs.items()}
    assert found["heavy"] / found["light"] == pytest.approx(3.0, rel=0.2)
    total = sum(each.bytes for each in learned.costs.values())
    assert sum(each.cost * each.bytes for each in learned.costs.values()) / total == pytest.approx(1.0, abs=0.02)


def test_costs_and_capacities_together_explain_the_work() -> None:
    """What counts for a plan: bytes weighted by cost, divided by capacity, are the seconds of work."""
    costs, paces = {"heavy": 3.0, "light": 1.0, "plain": 1.0}, {ONE: START, TWO: 2 * START, THREE: 1.5 * START}
    learned = taught(paces, costs, 250)
    rng = random.Random(3)
    for consumer, mix in MIXES.items():
        done = work_of(rng, consumer, paces[consumer], costs, mix).work
        assert done is not None
        weighted = sum(learned.costs[topic].cost * size for topic, size in done.bytes.items())
        assert weighted / capacity(learned, consumer) == pytest.approx(done.busy_s, rel=0.15)


def test_equal_costs_stay_1() -> None:
    learned = taught(dict.fromkeys(MIXES, START), {"heavy": 1.0, "light": 1.0, "plain": 1.0}, 60)
    assert [each.cost for each in learned.costs.values()] == pytest.approx([1.0, 1.0, 1.0], abs=0.1)


def test_the_cost_of_a_group_s_only_topic_is_1() -> None:
    assert after(Learned(), 5e6, 50).costs["a"].cost == pytest.approx(1.0)


def test_a_fixed_cost_is_not_learned() -> None:
    terms = Terms(START, fixed_cost={"heavy": 2.0}.get)
    learned = taught(dict.fromkeys(MIXES, START), {"heavy": 3.0, "light": 1.0, "plain": 1.0}, 20, terms)
    assert set(learned.costs) == {"light", "plain"}
    assert cost_of(learned.costs, "heavy", terms.fixed_cost) == 2.0


def test_what_an_earlier_controller_has_learned_is_where_this_one_begins() -> None:
    before = {ONE: LearnedCapacity(5e6, 4e6)}
    learned = recall(Learned(), before, {"a": TopicCost(1.5, 1e9)})
    assert (capacity(learned), learned.costs["a"].cost, learned.moments["a"].start) == (5e6, 1.5, 1.5)
    assert recall(after(Learned(), START, 5), before, {}).capacities == after(Learned(), START, 5).capacities


def test_what_a_removed_consumer_has_taught_is_forgotten() -> None:
    known = after(after(Learned(), START, 5), START, 5, TWO)
    assert set(known.without(ONE).capacities) == {TWO}
    assert known.without(THREE) is known
