"""Topics that consumers can't store: a flag with the reason while any of them says so, and nothing is moved."""

from tests.support.controller_driver import A0, A2, ELSEWHERE, Driver

from restow.protocol.messages.reports import Failure

SEVEN = Failure("a", "the transform shop:orders fails on a-0 at offset 7: ValueError: a seven")
EIGHT = Failure("a", "the transform shop:orders fails on a-2 at offset 8: ValueError: an eight")
FLAG = "failing a"


def test_a_failing_transform_raises_a_flag_with_its_reason_once_and_moves_nothing(pair: Driver) -> None:
    assert pair.reports(1, failures=(SEVEN,)) == ()
    assert pair.words == [f"{FLAG}: {SEVEN.reason}"]
    assert pair.flags == {FLAG: SEVEN.reason}
    assert pair.reports(1, failures=(SEVEN,)) == ()
    assert (pair.words, pair.moved) == ([], ())


def test_the_flag_is_cleared_when_the_consumer_stores_again(pair: Driver) -> None:
    pair.reports(1, failures=(SEVEN,))
    pair.reports(1)
    assert pair.words == [f"{FLAG}: resolved, no consumer reports it any more"]
    assert pair.flags == {}


def test_two_consumers_that_fail_on_other_records_do_not_change_the_flag_in_turns(pair: Driver) -> None:
    pair.reports(1, failures=(SEVEN,))
    for consumer, failure in ((2, EIGHT), (1, SEVEN), (2, EIGHT)):
        pair.reports(consumer, failures=(failure,))
        assert (pair.words, pair.flags) == ([], {FLAG: SEVEN.reason})
    pair.reports(1)
    assert pair.flags == {FLAG: EIGHT.reason}, "the other one still fails"
    pair.reports(2)
    assert pair.flags == {}


def test_another_consumer_that_stores_does_not_clear_the_flag(pair: Driver) -> None:
    pair.reports(1, failures=(SEVEN,))
    pair.reports(2)
    assert pair.flags == {FLAG: SEVEN.reason}


def test_the_flag_outlives_a_restart_of_the_consumer(pair: Driver) -> None:
    pair.reports(1, failures=(SEVEN,))
    pair.is_ready(1, *pair.fakes[1].held, clean=False)
    assert pair.flags == {FLAG: SEVEN.reason}
    pair.reports(1, failures=(SEVEN,))
    assert (pair.words, pair.flags) == ([], {FLAG: SEVEN.reason})


def test_a_refused_partition_is_no_longer_failing(pair: Driver) -> None:
    pair.reports(1, failures=(SEVEN,))
    held = tuple(pair.fakes[1].held)
    pair.hears(pair.refused(1, None, *held))
    assert list(pair.flags) == ["refused a"]


def test_a_new_definition_clears_the_flag_and_reports_on_the_old_one_do_not_raise_it(pair: Driver) -> None:
    pair.reports(1, failures=(SEVEN,))
    pair.changes("a", ELSEWHERE)
    assert pair.flags == {}
    pair.reports(1, failures=(SEVEN,))
    assert pair.flags == {}, "it still reads by the old definition"


def test_a_topic_that_is_not_consumed_any_more_has_no_flag(pair: Driver) -> None:
    pair.reports(1, failures=(SEVEN,))
    pair.changes("a", None)
    assert pair.flags == {}
    assert {A0, A2}.isdisjoint(pair.state.failing)
