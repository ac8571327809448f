"""How long a command lets a running cycle finish."""

import pytest

from restow.consumer.patience import FINISH_WITHIN_S, patience_s

MOST_S = 12.0


def test_a_cycle_that_is_almost_done_may_finish_and_a_longer_one_is_cancelled_at_once() -> None:
    assert patience_s(0.8, 0, MOST_S) == FINISH_WITHIN_S
    assert patience_s(4.0, 0, MOST_S) == 0.0


def test_a_cycle_of_unknown_length_gets_the_same_time() -> None:
    assert patience_s(None, 0, MOST_S) == FINISH_WITHIN_S


@pytest.mark.parametrize(("cancelled", "allowed_s"), [(1, 3.0), (2, 6.0), (3, 12.0), (9, 12.0), (10_000, 12.0)])
def test_after_cancelled_cycles_the_next_one_gets_longer_until_the_share_of_the_grace_time(
    cancelled: int, allowed_s: float
) -> None:
    assert patience_s(allowed_s, cancelled, MOST_S) == allowed_s
