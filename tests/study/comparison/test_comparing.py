"""A comparison: the same load for every policy, tuned by one rule, with targets that can be missed."""

import math

import numpy as np
import pytest

from restow.errors import InvalidInput
from restow.model import Assignment, ConsumerId, TopicPartition
from restow.rivals.assignors import sticky
from restow.settings import Controller
from restow.study.comparison.accounting import Accounting, Outcome
from restow.study.comparison.comparing import Row, jobs
from restow.study.comparison.loads import WORKLOADS, Load, Shape
from restow.study.comparison.members import Members, by_load
from restow.study.comparison.ours import simulate
from restow.study.comparison.packers import PackedGroup
from restow.study.comparison.policies import POLICIES, Policy, chosen
from restow.study.comparison.sweeping import SweepRow, over_all, settings_with
from restow.study.comparison.targets import verdicts
from restow.study.comparison.times import Times

SMALL = Shape(hours=0.2, partitions=12, per_consumer=4)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_seed_gives_the_same_load_and_no_partition_is_too_fast_for_a_consumer(workload: str) -> None:
    one, same, other = (SMALL.load(workload, seed) for seed in (1, 1, 2))
    assert np.array_equal(one.speeds, same.speeds)
    assert not np.array_equal(one.speeds, other.speeds)
    assert one.speeds.shape == (12, 72)
    assert one.speeds.max() <= 0.7 * SMALL.capacity_bytes_per_s


def test_a_flash_crowd_comes_and_producers_stop() -> None:
    crowd = SMALL.load("flash-crowd", 3).speeds.sum(axis=0)
    assert crowd.max() > 1.8 * crowd[:10].mean()
    assert SMALL.load("outage", 3).speeds.sum(axis=0).min() == 0.0


@pytest.mark.parametrize(
    "policy", [policy for policy in POLICIES if policy.name != "restow"], ids=lambda each: each.name
)
def test_every_policy_carries_a_steady_load(policy: Policy) -> None:
    steady = _steady()
    settings = [each for each in policy.settings(steady) if each.get("size", 9) >= 4]
    outcomes = [policy.run(steady, Times(), each) for each in settings]
    best = min(outcomes, key=lambda outcome: outcome.latency_p99_s)
    assert best.latency_p99_s < 5.0
    assert best.consumer_hours < 12 * 0.2


def _steady(speed: float = 200_000.0) -> Load:
    names = tuple(TopicPartition("orders", number) for number in range(12))
    return Load("steady", 1, 0.2, names, 1e6, np.full((12, 72), speed))


def test_restow_is_the_real_controller_accounted_like_the_others() -> None:
    load = _steady()
    outcome = simulate(load, Times(start_s=5.0), Controller())
    assert outcome.latency_p99_s == 1.0
    assert outcome.overloaded_consumer_s == 0.0
    assert outcome.consumer_hours == pytest.approx(3 * (0.2 - load.counted_from_s / 3600), abs=0.01)
    assert outcome == simulate(load, Times(start_s=5.0), Controller())


def test_a_setting_is_chosen_for_its_cost_if_it_is_fast_enough_and_else_for_its_latency() -> None:
    def outcome(hours: float, latency_s: float) -> Outcome:
        return Outcome(hours, 0, latency_s, 0.0)

    cheap, fast, late = ({"size": 3.0}, {"size": 5.0}, {"size": 1.0})
    assert chosen([(cheap, outcome(3, 20)), (fast, outcome(5, 1)), (late, outcome(1, 90))]) == cheap
    assert chosen([(late, outcome(1, 90)), (fast, outcome(5, 40))]) == fast


def test_members_start_join_together_and_the_newest_leave_first() -> None:
    load, times = _steady(), Times()
    model = Accounting(load.speeds, 1e6, 1.0, 0.0)
    members = Members(model, load.partitions, sticky, "kip848", times, size=2)
    assert set(model.owner.tolist()) == {1, 2}
    members.scale_to(4)
    assert members.size == 4
    members.tick()
    assert set(model.owner.tolist()) == {1, 2}, "they are starting"
    while model.now_s < times.start_s:
        model.advance(members.size)
    members.tick()
    assert set(model.owner.tolist()) == {1, 2, 3, 4}
    members.scale_to(1)
    assert set(model.owner.tolist()) == {1}
    assert model.outcome().moves == 6 + 9


def test_members_that_share_by_load_have_about_the_same() -> None:
    partitions = [TopicPartition("orders", number) for number in range(4)]
    found = by_load(np.array([9.0, 5.0, 4.0, 1.0]))(partitions, [ConsumerId(1), ConsumerId(2)], Assignment())
    assert [len(held) for held in found.by_consumer.values()] == [2, 2]
    assert found[partitions[0]] == found[partitions[3]]


def test_a_packer_waits_for_its_new_consumers_before_it_moves_anything_to_them() -> None:
    load = _steady()
    load.speeds[:, 10:] = 400_000.0
    outcome = PackedGroup(load, Times(start_s=20.0), "bfd", fill_to=0.85).run(every_s=60.0)
    assert outcome.overloaded_consumer_s > 0
    assert outcome.moves > 0


def row(policy: str, hours: float, moves: int, overloaded_s: float, latency_s: float = 1.0) -> Row:
    return Row(policy, "daily", hours, moves, latency_s, overloaded_s, "")


def test_targets_are_met_and_missed_in_words() -> None:
    good = [row("restow", 10.0, 5, 0.0), row("MWF", 9.8, 90, 100.0), row("Flink", 9.0, 3, 10.0, latency_s=60.0)]
    assert [each.is_met for each in verdicts(good)] == [True, True, True]
    bad = [row("restow", 10.0, 10, 50.0), row("MWF", 9.0, 90, 40.0)]
    assert [each.words for each in verdicts(bad)] == [
        "MISSED  daily: 10 consumer-hours, and 5 % above the best, MWF, are 9.45",
        "MISSED  daily: 10 moves, and a tenth of MWF's are 9",
        "MISSED  daily: 50 overloaded consumer-seconds, and the least within 10 % of the hours, MWF, has 40",
    ]


def test_a_job_tunes_on_other_seeds_than_it_shows() -> None:
    found = jobs(SMALL, ["daily", "skew"], Times(), [1], [101, 102])
    assert len(found) == 2 * len(POLICIES)
    [job] = [each for each in found if (each.policy, each.workload) == ("Kafka, sticky", "skew")]
    shown = job.run()
    assert (shown.policy, shown.workload, shown.moves) == ("Kafka, sticky", "skew", 0)
    assert shown.setting.startswith("size ")
    assert math.isfinite(shown.latency_p99_s)


def test_times_can_be_changed_by_name() -> None:
    assert Times().changed({"start_s": 40.0}).start_s == 40.0
    with pytest.raises(InvalidInput, match="there is no time 'begin_s'; known are start_s, cycle_s"):
        Times().changed({"begin_s": 40.0})


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ({"worth": "-1"}, "worth"),
        ({"look_every_s": "soon"}, "look_every_s"),
        ({"colour": "red"}, "there is no setting 'colour' that scaling depends on; known are .*look_every_s"),
        ({"cycle_s": "5"}, "there is no setting 'cycle_s' that scaling depends on"),
        ({"fill_to": "0.99"}, "fill_to"),
    ],
)
def test_settings_are_checked_as_in_a_file(given: dict[str, str], answer: str) -> None:
    with pytest.raises(InvalidInput, match=answer):
        settings_with(given)


def test_settings_count() -> None:
    assert settings_with({"worth": "3", "least_consumers": "2"}).controller.worth == 3.0


def test_a_sweep_s_rows_are_summed_over_the_workloads() -> None:
    rows = [
        SweepRow(value, workload, 1.5, 2, latency_s, 10.0)
        for value in ("5", "60")
        for workload, latency_s in (("daily", 3.0), ("skew", 7.0))
    ]
    assert over_all(rows) == [SweepRow(value, "all", 3.0, 4, 7.0, 20.0) for value in ("5", "60")]
