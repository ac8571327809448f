"""When a cycle counts as stalled, and when the process gives it up."""

import pytest

from restow.consumer.watchdog import Verdict, Watchdog


def after_cycles(*lengths_s: float, has_stored: bool = True) -> Watchdog:
    watchdog = Watchdog(expected_s=10.0)
    for length_s in lengths_s:
        watchdog = running(watchdog, length_s).ended(has_stored)
    return watchdog


def running(watchdog: Watchdog, for_s: float) -> Watchdog:
    watchdog, now_s = watchdog.begun(100.0), 100.0
    while now_s < 100.0 + for_s:
        now_s = min(now_s + 0.5, 100.0 + for_s)
        watchdog = watchdog.looked(now_s)
    return watchdog


@pytest.mark.parametrize(
    ("lengths_s", "for_s", "verdict"),
    [
        ((1.0, 4.0, 1.0), 29.0, Verdict.FINE),
        ((1.0, 4.0, 1.0), 31.0, Verdict.STALLED),
        ((1.0, 4.0, 1.0), 170.0, Verdict.STALLED),
        ((1.0, 4.0, 1.0), 190.0, Verdict.HOPELESS),
        ((60.0, 60.0), 290.0, Verdict.FINE),
        ((60.0, 60.0), 310.0, Verdict.STALLED),
        ((60.0, 60.0), 1700.0, Verdict.STALLED),
        ((60.0, 60.0), 1900.0, Verdict.HOPELESS),
    ],
)
def test_what_is_too_long_depends_on_the_cycles_before(
    lengths_s: tuple[float, ...], for_s: float, verdict: Verdict
) -> None:
    assert running(after_cycles(*lengths_s), for_s).verdict is verdict


def test_before_anything_was_stored_a_cycle_gets_more_time() -> None:
    first = after_cycles(1.0, 1.0, has_stored=False)
    found = [running(first, for_s).verdict for for_s in (45.0, 55.0, 1790.0, 1810.0)]
    assert found == [Verdict.FINE, Verdict.STALLED, Verdict.STALLED, Verdict.HOPELESS]


def test_one_long_cycle_is_forgotten() -> None:
    watchdog = after_cycles(100.0, *[1.0] * 60)
    assert running(watchdog, 31.0).verdict is Verdict.STALLED


def test_time_in_which_the_process_was_suspended_does_not_count() -> None:
    watchdog = running(after_cycles(1.0), 5.0).looked(10_000.0)
    assert watchdog.verdict is Verdict.FINE
