"""The packing study: its measures worked by hand, and the published means found again."""

import pytest

from restow.model import Speeds, TopicPartition
from restow.packing import PACKERS, PUBLISHED, PackingPlan, Problem
from restow.study.packing import THE_TWELVE, Contender, Row, contenders, jobs, study
from restow.study.workload import Recording, Walk


def recording(*steps: dict[int, float]) -> Recording:
    """The speeds of partitions orders-n, step by step."""
    return Recording(
        tuple(Speeds({TopicPartition("orders", number): speed for number, speed in step.items()}) for step in steps)
    )


# First step:  nf  6 | 5 4 | 5     bfd  6 4 | 5 5     so zmin is 2, and nf is 50 % above it.
# Second step: 0 is gone, 4 is new. nf stays as it is, with 5 4 | 7 3. bfd opens consumer 2 for the 7, which it holds,
# and the 5, whose consumer is open, goes to the lowest free one, 1: half a capacity has moved. Both need 2 consumers.
BY_HAND = recording({0: 6, 1: 5, 2: 4, 3: 5}, {1: 5, 2: 4, 3: 7, 4: 3})


def test_consumers_and_moves_are_counted_as_by_hand() -> None:
    assert study([BY_HAND], contenders(["nf", "bfd"], []), capacity=10.0) == [
        Row(None, "nf", None, cbs=25.0, r=0.0, consumers=2.5, moves=0.0),
        Row(None, "bfd", None, cbs=0.0, r=0.5, consumers=2.0, moves=1.0),
    ]


def test_a_first_placement_is_no_move_and_the_first_step_counts_for_consumers_only() -> None:
    growing = recording({0: 6}, {0: 6, 1: 6}, {0: 6, 1: 6, 2: 6})
    assert study([growing], contenders(["bfd"], []), capacity=10.0) == [
        Row(None, "bfd", None, cbs=0.0, r=0.0, consumers=2.0, moves=0.0)
    ]


def test_a_single_step_moves_nothing() -> None:
    assert study([recording({0: 6})], contenders(["mwf"], []), capacity=10.0) == [
        Row(None, "mwf", None, cbs=0.0, r=0.0, consumers=1.0, moves=0.0)
    ]


def test_a_step_without_partitions_needs_no_consumer() -> None:
    assert study([recording({0: 6}, {})], contenders(["mwf"], []), capacity=10.0) == [
        Row(None, "mwf", None, cbs=0.0, r=0.0, consumers=0.5, moves=0.0)
    ]


def test_the_least_consumers_are_those_of_the_twelve_whichever_are_shown() -> None:
    [alone] = study([BY_HAND], contenders(["nf"], []), capacity=10.0)
    everybody = study([BY_HAND], THE_TWELVE, capacity=10.0)
    assert alone == everybody[0]
    assert min(row.cbs for row in everybody) == 0


def test_a_published_packer_runs_once_and_ours_once_for_each_worth() -> None:
    assert contenders(["mwf", "restow", "bfd"], [0.5, 30.0]) == (
        Contender("mwf"),
        Contender("restow", 0.5),
        Contender("restow", 30.0),
        Contender("bfd"),
    )


def test_every_decision_gets_the_worth_the_assignment_and_the_previous_speeds(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Problem] = []

    def attentive(problem: Problem) -> PackingPlan:
        asked.append(problem)
        return PUBLISHED["mwf"](problem)

    monkeypatch.setitem(PACKERS, "attentive", attentive)
    study([BY_HAND], [Contender("attentive", 3.0)], capacity=10.0)
    first, second = BY_HAND.speeds()
    assert [(problem.worth, problem.speeds, problem.previous) for problem in asked] == [
        (3.0, first, None),
        (3.0, second, first),
    ]
    assert asked[1].current == PUBLISHED["mwf"](asked[0]).assignment


def test_rows_are_means_over_the_seeds_of_each_d() -> None:
    walks = {(d, seed): Walk(d, seed, steps=4) for d in (25, 5) for seed in (1, 2)}
    rows = study(list(walks.values()), contenders(["mwf"], []), capacity=100.0)
    alone = {key: study([walk], contenders(["mwf"], []), capacity=100.0)[0] for key, walk in walks.items()}
    assert [row.d for row in rows] == [25, 5]
    for row in rows:
        assert row.d is not None
        for measure in ("cbs", "r", "consumers", "moves"):
            mean = sum(getattr(alone[row.d, seed], measure) for seed in (1, 2)) / 2
            assert getattr(row, measure) == pytest.approx(mean)


@pytest.mark.slow
def test_the_number_of_processes_changes_nothing() -> None:
    walks = [Walk(d, 1, steps=3) for d in (5, 25)]
    assert study(walks, THE_TWELVE, 100.0, processes=2) == study(walks, THE_TWELVE, 100.0, processes=1)


def test_progress_advances_after_every_job() -> None:
    walks, chosen = [Walk(5, seed, steps=2) for seed in (1, 2)], contenders(["mwf"], [])
    calls: list[None] = []
    study(walks, chosen, 100.0, advance=lambda: calls.append(None))
    assert len(calls) == len(jobs(walks, chosen, 100.0)) == 2


# d: (CBS in per cent, R) of each, uniform start
PUBLISHED_MEANS = {
    5: {"mwf": (11.8, 9.2), "mbf": (3.8, 16.0), "mbfp": (0.2, 23.1), "bfd": (0.0, 24.2)},
    10: {"mwf": (11.5, 11.8), "mbf": (3.2, 18.9), "mbfp": (0.3, 24.2), "bfd": (0.0, 25.5)},
    15: {"mwf": (10.5, 12.8), "mbf": (2.6, 19.9), "mbfp": (0.2, 24.0), "bfd": (0.0, 25.5)},
    20: {"mwf": (9.4, 13.8), "mbf": (2.2, 20.6), "mbfp": (0.2, 23.8), "bfd": (0.0, 25.8)},
    25: {"mwf": (8.8, 15.0), "mbf": (1.8, 21.5), "mbfp": (0.1, 24.1), "bfd": (0.0, 26.4)},
}
# Runs differ by where their 200 partitions start, the more so the slower they walk. Single runs of 150 steps were up to
# 2.3 (mwf), 1.2 (mbf) and 0.26 (mbfp) points of CBS and 16 % of R off these means; three seeds of 500 steps, as long as
# the published run, 0.45, 0.26 and 0.16 points and 5 %. The runs here are between the two, and so is what is allowed.
CBS_TOLERANCE = {"mwf": 1.5, "mbf": 0.8, "mbfp": 0.25, "bfd": 0.0}
R_TOLERANCE = 0.1
STEPS = {5: 300, 10: 100, 15: 100, 20: 100, 25: 100}


@pytest.mark.slow
@pytest.mark.parametrize("d", list(PUBLISHED_MEANS))
def test_the_published_means_are_found_again(d: int) -> None:
    published = PUBLISHED_MEANS[d]
    walks = [Walk(d, seed, STEPS[d]) for seed in (1, 2, 3)]
    rows = {row.packer: row for row in study(walks, contenders(published, []), capacity=100.0, processes=1)}
    for packer, (cbs, r) in published.items():
        assert rows[packer].cbs == pytest.approx(cbs, abs=CBS_TOLERANCE[packer]), packer
        assert rows[packer].r == pytest.approx(r, rel=R_TOLERANCE), packer
