"""How cores are shared out, and how much there is to read."""

from restow.study.throughput import BASE, Case
from restow.throughput.measuring import Timing
from restow.throughput.run import records_for, shared_out


def test_a_contender_has_the_last_cores_and_brokers_have_the_others() -> None:
    assert shared_out([0, 1], 1) == ([1], [0])
    assert shared_out([0, 1, 2, 5], 2) == ([2, 5], [0, 1])


def test_brokers_share_the_cores_of_a_contender_that_leaves_none() -> None:
    assert shared_out([0, 1], 2) == ([0, 1], [0, 1])
    assert shared_out([3], 1) == ([3], [3])


def test_a_backlog_lasts_for_the_whole_run_and_for_several_cycles_of_a_short_one() -> None:
    assert records_for(BASE, Timing(60.0, 60.0)) == 120 * 100_000
    assert records_for(BASE, Timing(1.0, 1.0)) == 8 * 100_000
    assert records_for(Case(record_bytes=150), Timing(60.0, 60.0)) == 120 * 300_000
    assert records_for(Case(cores=2), Timing(60.0, 60.0)) == 2 * 120 * 100_000
    assert records_for(Case(tables=5), Timing(60.0, 60.0)) == 120 * 50_000
