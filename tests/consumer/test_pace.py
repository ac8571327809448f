"""How many bytes a cycle may read: learned from the length of cycles, with fixed time and time per byte apart."""

from collections.abc import Callable, Iterable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.consumer.pace import FIRST_BYTES, FIXED_SHARE, LEAST_BYTES, PROBE_EVERY, CycleCosts, Pace

MOST_BYTES = 256e6
NOISE = 0.1


def at_first(cycle_s: float = 1.0, longest_s: float = 10.0, most_bytes: float = MOST_BYTES) -> Pace:
    return Pace.at_first(cycle_s, longest_s, most_bytes)


def with_backlog(pace: Pace, lengths: Iterable[Callable[[float], float]], *, is_cold: bool = False) -> Pace:
    """Every cycle reads as much as it may."""
    for length in lengths:
        pace = pace.after(pace.bytes, length(pace.bytes), is_cold=is_cold)
    return pace


def machine(fixed_s: float, bytes_per_s: float, seed: int = 1) -> Iterable[Callable[[float], float]]:
    rng = Random(seed)
    for _ in range(60):
        yield lambda size: (fixed_s + size / bytes_per_s) * rng.uniform(1 - NOISE, 1 + NOISE)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("fixed_s", "bytes_per_s"), [(0.3, 60e6), (0.4, 20e6), (0.6, 5e6), (0.9, 1e6)])
def test_with_a_backlog_the_fixed_time_becomes_a_small_share(fixed_s: float, bytes_per_s: float, seed: int) -> None:
    pace = with_backlog(at_first(), machine(fixed_s, bytes_per_s, seed))
    variable_s = pace.limit_bytes / bytes_per_s
    assert fixed_s / (fixed_s + variable_s) < 2.5 * FIXED_SHARE
    assert variable_s < 2 * fixed_s / FIXED_SHARE


def test_the_longest_cycle_is_a_limit() -> None:
    pace = with_backlog(at_first(longest_s=10.0), machine(5.0, 1e6))
    assert 3e6 < pace.limit_bytes < 8e6


def test_slow_first_cycles_do_not_make_the_next_ones_smaller() -> None:
    pace, sizes = at_first(), []
    for _ in range(5):
        pace = pace.after(pace.bytes, 3.0 + pace.bytes / 5e6, is_cold=True)
        sizes.append(pace.bytes)
    assert sizes == sorted(sizes)
    assert pace.bytes > FIRST_BYTES


def test_a_cold_cycle_beyond_the_longest_makes_the_next_one_as_long_as_that_or_half_as_large() -> None:
    pace = at_first(longest_s=10.0)
    assert pace.after(4e6, took_s=12.5, is_cold=True).bytes == 3.2e6
    assert pace.after(4e6, took_s=40.0, is_cold=True).bytes == 2e6


def test_cycles_of_a_consumer_that_keeps_up_leave_the_limit() -> None:
    pace = with_backlog(at_first(), machine(0.4, 50e6))
    limit = pace.limit_bytes
    for _ in range(1000):
        pace = pace.after(2e5, took_s=0.9, is_cold=False)
    assert pace.limit_bytes == limit


def test_a_consumer_that_was_idle_for_long_takes_a_backlog_in_large_cycles() -> None:
    pace = at_first()
    for _ in range(1000):
        pace = pace.after(2e5, took_s=0.4, is_cold=False)
    assert with_backlog(pace, machine(0.4, 50e6)).limit_bytes > 100e6


def test_the_expected_length_is_that_of_the_machine() -> None:
    assert at_first().expected_s(1e6) is None
    pace = with_backlog(at_first(), machine(0.4, 50e6))
    for size in (1e6, 50e6, 200e6):
        assert pace.expected_s(size) == pytest.approx(0.4 + size / 50e6, rel=0.35)


def test_a_cancelled_cycle_makes_the_next_one_half_as_large() -> None:
    pace = with_backlog(at_first(), machine(0.4, 50e6))
    assert pace.after_cancelled().limit_bytes == pace.limit_bytes / 2
    for _ in range(20):
        pace = pace.after_cancelled()
    assert pace.bytes == LEAST_BYTES


def test_every_so_many_cycles_a_short_one_tells_fixed_time_from_time_per_byte() -> None:
    pace, sizes = at_first(), []
    for length in machine(0.4, 50e6):
        sizes.append(pace.bytes / pace.limit_bytes)
        pace = pace.after(pace.bytes, length(pace.bytes), is_cold=False)
    assert sizes[1 : 2 * PROBE_EVERY + 3] == [0.25, *[1.0] * PROBE_EVERY] * 2


def test_costs_of_equal_cycles_rest_on_the_guess() -> None:
    costs = CycleCosts()
    for _ in range(50):
        costs = costs.after(10e6, 1.4)
    assert (costs.fixed_s, costs.s_per_byte) == pytest.approx((0.4, 1e-7))


@given(
    st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e4), st.booleans(), st.booleans())),
    st.floats(1.0, 1e9),
    st.floats(0.01, 60.0),
)
def test_however_the_cycles_went_there_is_room_for_the_next(
    cycles: list[tuple[float, float, bool, bool]], most_bytes: float, cycle_s: float
) -> None:
    pace = at_first(cycle_s, most_bytes=most_bytes)
    for taken, took_s, is_cold, is_cancelled in cycles:
        pace = pace.after_cancelled() if is_cancelled else pace.after(taken, took_s, is_cold=is_cold)
        assert min(LEAST_BYTES, most_bytes) <= pace.bytes <= most_bytes
