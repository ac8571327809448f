"""Synchronize: a controller that starts learns who is there and what each holds, before it decides anything."""

from tests.support.controller_driver import (
    A0,
    A1,
    EPOCH,
    PLAIN,
    TO_B,
    Fellow,
    Told,
    create,
    delete,
    query,
    restart,
    rules,
)

from restow.controller.effects import ListConsumers
from restow.controller.transitions import Cause, Stage
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.messages import ConsumerReport, StateQueryResponse

OTHER_EPOCH = EPOCH - 1


def asking(*consumers: int, told: Told | None = None) -> Told:
    """Has asked these, and they have not answered yet."""
    told = told or Told()
    told.starts()
    assert told.lists(*consumers) == tuple(query(consumer) for consumer in consumers)
    for consumer in consumers:
        told.fellows[consumer] = Fellow(told.next_offset(), {}, dict(told.state.rules.consume))
    return told


def response(consumer: int, incarnation: int, epoch: int = EPOCH) -> StateQueryResponse:
    nothing = SortedMapping[str, str]()
    return StateQueryResponse(ConsumerId(consumer), incarnation, epoch, 1, SortedMapping(), nothing, 0)


def test_with_nobody_there_it_watches_at_once() -> None:
    told = Told()
    assert told.starts() == (ListConsumers(),)
    assert told.lists() == ()
    assert told.causes == [Cause.ALL_KNOWN]


def test_before_the_platform_has_answered_nothing_is_decided() -> None:
    told = Told()
    told.starts()
    assert told.measures(a_0=60) == ()
    assert told.state.stage is Stage.SYNCHRONIZE


def test_a_platform_that_does_not_answer_is_asked_again() -> None:
    told = Told()
    told.starts()
    assert [told.ticks(5) for _ in range(6)] == [(), (), (), (), (), (ListConsumers(),)]


def test_the_first_speeds_create_consumers_with_the_lowest_numbers(alone: Told) -> None:
    assert alone.measures(a_0=60, a_1=60) == (create(1), create(2))
    assert alone.causes == [Cause.UNASSIGNED, Cause.CHANGE]
    assert alone.is_ready(2) == (alone.start(2, 1, a_1="recover"),)
    assert alone.is_ready(1) == (alone.start(1, 1, a_0="recover"),)
    assert alone.settles() == ()
    assert alone.causes == [Cause.DONE]
    assert alone.held == {1: (A0,), 2: (A1,)}


def test_every_listed_consumer_is_asked_and_waited_for() -> None:
    told = asking(2, 5)
    assert told.answers(5) == ()
    assert told.measures(a_0=60) == ()
    assert told.state.stage is Stage.SYNCHRONIZE
    assert told.answers(2) == ()
    assert told.causes == [Cause.ALL_KNOWN]


def test_a_response_sets_the_assignment_of_its_consumer() -> None:
    told = asking(1, 2)
    told.fellows[1].held = {A0: 50}
    told.fellows[2].held = {A1: 70}
    told.answers()
    assert told.view(1).held == {A0}
    assert told.view(2).held == {A1}
    assert told.measures(a_0=60, a_1=60) == ()
    assert told.causes == [Cause.PERIODIC, Cause.NO_CHANGE]


def test_what_a_consumer_says_before_its_response_is_passed_over_and_counts_after_it() -> None:
    told = asking(1)
    told.fellows[1].held = {A0: 50}
    told.reports(1)
    told.hears(told.stopped(1, None, {A0: 60}))
    assert (told.view(1).held, told.view(1).report, told.view(1).has_reported_holdings) == (frozenset(), None, False)
    told.answers(1)
    assert told.view(1).held == {A0}
    told.hears(told.stopped(1, None, {A0: 60}))
    assert told.view(1).held == frozenset()


def test_a_response_to_another_controller_is_passed_over() -> None:
    told = asking(1)
    assert told.hears(response(1, 90, epoch=OTHER_EPOCH)) == ()
    assert not told.view(1).has_reported_holdings


def test_one_that_starts_while_it_is_asked_tells_the_same_with_its_ready() -> None:
    told = asking(1)
    assert told.is_ready(1, A0, clean=False) == ()
    assert told.causes == [Cause.ALL_KNOWN]
    assert told.words == ["consumer 1: restarted after a crash, with 1 partition"]
    assert told.view(1).held == {A0}


def test_the_response_of_one_that_was_replaced_since_is_passed_over() -> None:
    told = asking(1)
    old = told.fellows[1].incarnation
    told.is_ready(1, A0)
    told.hears(response(1, old))
    assert told.view(1).held == {A0}
    assert told.view(1).incarnation == told.fellows[1].incarnation


def test_one_that_does_not_answer_is_asked_again_then_restarted_then_lost() -> None:
    told = asking(1)
    assert told.waits(29, silent=[1]) == ()
    assert told.waits(1, silent=[1]) == (query(1, 2),)
    assert told.waits(30, silent=[1]) == (query(1, 3),)
    assert told.waits(30, silent=[1]) == (restart(1),)
    assert told.words == ["consumer 1: did not answer the query for its state; restarting it"]
    assert told.waits(179, silent=[1]) == ()
    assert told.state.stage is Stage.SYNCHRONIZE
    assert told.waits(1, silent=[1]) == (delete(1),)
    assert told.words[0] == "consumer 1: neither answers nor comes back; giving it up with 0 partitions"
    assert told.causes == [Cause.ALL_KNOWN, Cause.HANDOVER, Cause.NO_CHANGE]
    assert told.phases == {1: "lost"}


def test_what_a_lost_one_may_have_is_read_by_others_where_its_late_writes_are_refused() -> None:
    told = asking(1, told=Told(rules({"a": PLAIN, "b": TO_B})))
    told.waits(270, silent=[1])
    assert told.phases == {1: "lost"}
    assert told.measures(a_0=40, b_0=40) == (create(2),)
    assert told.is_ready(2) == (told.start(2, 1, b_0="recover"),)
    assert told.answers(2) == ()
    assert told.is_calm
    assert told.goes(1) == (told.start(2, 2, a_0="recover"),)
    assert told.causes == [Cause.GONE, Cause.CHANGE]


def test_a_response_that_comes_late_tells_what_a_lost_one_has() -> None:
    told = asking(1, told=Told(rules({"a": PLAIN})))
    told.fellows[1].held = {A0: 10}
    told.waits(270, silent=[1])
    assert told.measures(a_0=40, a_1=40) == ()
    told.answers(1)
    assert told.waits(5) == (create(2),)
    assert told.is_ready(2) == (told.start(2, 1, a_1="recover"),)


def test_two_that_claim_one_partition_both_stop_it_and_one_starts_it() -> None:
    told = asking(1, 2)
    told.fellows[1].held = {A0: 50}
    told.fellows[2].held = {A0: 40, A1: 10}
    told.answers()
    assert told.measures(a_0=40, a_1=20) == (told.stop(1, 1, A0), told.stop(2, 1, A0))
    assert told.causes == [Cause.DISAGREEMENT, Cause.CHANGE]
    assert told.answers(1) == ()
    assert told.answers(2) == (told.start(2, 2, a_0=40),)  # from the lower of the two: nothing is passed over
    assert told.answers(2) == (delete(1),)
    assert told.held == {1: (), 2: (A0, A1)}


def test_of_several_reasons_to_look_the_same_is_told_whatever_the_order_of_sets() -> None:
    told = asking(1, 2)
    told.fellows[1].held = {A0: 50, **{TopicPartition("c", number): 0 for number in range(20)}}
    told.fellows[1].topics["c"] = TO_B
    told.fellows[2].held = {A0: 40}
    told.answers()
    told.measures(a_0=40)
    assert told.causes == [Cause.DISAGREEMENT, Cause.CHANGE]


def test_one_that_is_found_leaving_counts_as_lost_until_it_is_gone() -> None:
    told = Told(rules({"a": PLAIN}))
    told.starts()
    assert told.lists(leaving=[1]) == ()
    assert told.words == ["consumer 1: is leaving; what it holds is unknown until it is gone"]
    assert told.causes == [Cause.ALL_KNOWN]
    assert told.measures(a_0=40) == (create(2),)
    assert told.is_ready(2) == ()
    assert told.goes(1) == (told.start(2, 1, a_0="recover"),)


def test_a_response_in_a_later_state_is_passed_over(pair: Told) -> None:
    before = pair.view(1)
    assert pair.hears(response(1, pair.fellows[1].incarnation)) == ()
    assert pair.view(1) == before


def test_a_response_in_a_later_state_counts_if_it_is_of_a_newer_incarnation(pair: Told) -> None:
    newer = pair.next_offset()
    pair.hears(response(1, newer))
    assert pair.causes[:2] == [Cause.DISAGREEMENT, Cause.CHANGE]
    assert pair.view(1).incarnation == newer


def test_a_response_of_one_that_had_the_number_before_is_not_that_of_the_new_one() -> None:
    told = asking(1)
    late = told.answer_of(1, told.inbox[1][0])
    told.goes(1)
    assert told.measures(a_0=60) == (create(1),)
    assert told.hears(late) == ()
    assert told.phases == {1: "awaited"}


def test_one_that_nobody_knows_is_asked_when_it_is_listed_later_and_nothing_is_started_until_it_answers(
    pair: Told,
) -> None:
    assert pair.lists(1, 2, 3) == (query(3),)
    pair.fellows[3] = Fellow(pair.next_offset(), {}, {"a": pair.service_of("a")})
    assert pair.measures(a_0=40, a_1=40, a_2=40, a_3=40, a_4=10) == ()
    assert pair.answers(3) == ()
    assert pair.waits(5) == (pair.start(3, 1, a_4="recover"),)


def test_one_that_is_no_longer_listed_is_gone(pair: Told) -> None:
    pair.lists(2)
    assert pair.words[0] == "consumer 1: is gone"
    assert pair.causes == [Cause.GONE, Cause.CHANGE]


def test_one_that_was_just_created_is_not_gone_because_a_list_lacks_it(alone: Told) -> None:
    assert alone.measures(a_0=40) == (create(1),)
    assert alone.lists() == ()
    assert alone.phases == {1: "awaited"}


def test_nobody_that_is_unknown_is_listened_to(alone: Told) -> None:
    nothing = SortedMapping[str, str]()
    stranger = ConsumerReport(ConsumerId(9), 50, SortedMapping(), nothing, 0.0, 0.0, False, 0.5, 0.5)
    before = alone.state
    assert alone.hears(stranger) == ()
    assert alone.state == before
