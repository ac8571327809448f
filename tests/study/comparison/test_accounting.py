"""The model that all policies share: backlog, latency, overload, cost."""

import numpy as np
import pytest

from restow.study.comparison.accounting import STEP_S, Accounting

CAPACITY = 100.0


def accounting(speeds: list[list[float]], cycle_s: float = 1.0, counted_from_s: float = 0.0) -> Accounting:
    """A column is 10 s."""
    return Accounting(np.array(speeds, float), CAPACITY, cycle_s, counted_from_s)


def played(found: Accounting, consumers: int = 1) -> Accounting:
    while not found.is_over:
        found.advance(consumers)
    return found


def test_what_fits_is_read_at_once_and_waits_for_its_cycle_alone() -> None:
    model = accounting([[60.0] * 6, [30.0] * 6])
    model.assign(0, 1, 0.0)
    model.assign(1, 1, 0.0)
    outcome = played(model).outcome()
    assert model.backlog.tolist() == [0.0, 0.0]
    assert (outcome.latency_p99_s, outcome.overloaded_consumer_s, outcome.moves) == (1.0, 0.0, 0)
    assert outcome.consumer_hours == pytest.approx(60 / 3600, abs=1e-3)


def test_what_does_not_fit_waits_in_the_order_of_writing() -> None:
    model = accounting([[200.0] * 6])
    model.assign(0, 1, 0.0)
    outcome = played(model).outcome()
    assert model.backlog.tolist() == pytest.approx([60 * 100.0])
    assert outcome.latency_p99_s == pytest.approx(30.0 + 1.0), "the last record read is half of the time old"
    assert outcome.overloaded_consumer_s == 60.0


def test_a_partition_without_a_consumer_is_unread_and_overloads_none() -> None:
    model = accounting([[50.0] * 2, [500.0] * 2])
    model.assign(0, 1, 0.0)
    assert played(model).outcome().overloaded_consumer_s == 0.0
    assert model.backlog.tolist() == [0.0, 10_000.0]


def test_a_move_pauses_its_partition_and_the_first_assignment_is_none() -> None:
    model = accounting([[50.0] * 4])
    model.assign(0, 1, 3.0)
    model.advance(2)
    assert model.backlog.tolist() == [0.0]
    model.assign(0, 2, 3.0)
    model.advance(2)
    assert model.backlog.tolist() == pytest.approx([3.0 * 50.0]), "what is written in a pause is unread"
    model.advance(2)
    assert model.backlog.tolist() == [0.0]
    assert played(model).outcome().moves == 1


def test_capacity_is_shared_in_proportion_to_what_is_unread() -> None:
    model = accounting([[150.0], [50.0]])
    model.assign(0, 1, 0.0)
    model.assign(1, 1, 0.0)
    model.advance(1)
    assert model.backlog.tolist() == pytest.approx([75.0 * STEP_S, 25.0 * STEP_S])


def test_the_first_minutes_do_not_count() -> None:
    model = accounting([[200.0] * 6 + [10.0] * 60], counted_from_s=300.0)
    model.assign(0, 1, 0.0)
    model.advance(1)
    model.assign(0, 2, 0.0)
    outcome = played(model).outcome()
    assert (outcome.moves, outcome.overloaded_consumer_s, outcome.latency_p99_s) == (0, 0.0, 1.0)
    assert outcome.consumer_hours == pytest.approx(360 / 3600)
