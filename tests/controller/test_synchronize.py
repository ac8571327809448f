"""Synchronize: a new controller learns which consumers exist and what each holds, before it decides anything."""

from tests.support.controller_driver import (
    A0,
    A1,
    EPOCH,
    PLAIN,
    TO_B,
    Driver,
    FakeConsumer,
    create,
    delete,
    query,
    restart,
    rules,
)

from restow.controller.effects import ListConsumers
from restow.controller.transitions import Cause, Stage
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.messages.consumer_events import StateQueryResponse
from restow.protocol.messages.reports import ConsumerReport

OTHER_EPOCH = EPOCH - 1


def asking(*consumers: int, driver: Driver | None = None) -> Driver:
    """Has asked these, and they have not answered yet."""
    driver = driver or Driver()
    driver.starts()
    assert driver.lists(*consumers) == tuple(query(consumer) for consumer in consumers)
    for consumer in consumers:
        driver.fakes[consumer] = FakeConsumer(driver.next_offset(), {}, dict(driver.state.rules.consume))
    return driver


def response(consumer: int, incarnation: int, epoch: int = EPOCH) -> StateQueryResponse:
    nothing = SortedMapping[str, str]()
    return StateQueryResponse(ConsumerId(consumer), incarnation, epoch, 1, SortedMapping(), nothing, 0)


def test_without_consumers_it_enters_sentinel_at_once() -> None:
    driver = Driver()
    assert driver.starts() == (ListConsumers(),)
    assert driver.lists() == ()
    assert driver.causes == [Cause.ALL_KNOWN]


def test_before_the_platform_has_answered_nothing_is_decided() -> None:
    driver = Driver()
    driver.starts()
    assert driver.measures(a_0=60) == ()
    assert driver.state.stage is Stage.SYNCHRONIZE


def test_a_platform_that_does_not_answer_is_asked_again() -> None:
    driver = Driver()
    driver.starts()
    assert [driver.ticks(5) for _ in range(6)] == [(), (), (), (), (), (ListConsumers(),)]


def test_the_first_speeds_create_consumers_with_the_lowest_numbers(alone: Driver) -> None:
    assert alone.measures(a_0=60, a_1=60) == (create(1), create(2))
    assert alone.causes == [Cause.UNASSIGNED, Cause.CHANGE]
    assert alone.is_ready(2) == (alone.start(2, 1, a_1="recover"),)
    assert alone.is_ready(1) == (alone.start(1, 1, a_0="recover"),)
    assert alone.settles() == ()
    assert alone.causes == [Cause.DONE]
    assert alone.held == {1: (A0,), 2: (A1,)}


def test_every_listed_consumer_is_asked_and_waited_for() -> None:
    driver = asking(2, 5)
    assert driver.answers(5) == ()
    assert driver.measures(a_0=60) == ()
    assert driver.state.stage is Stage.SYNCHRONIZE
    assert driver.answers(2) == ()
    assert driver.causes == [Cause.ALL_KNOWN]


def test_a_response_sets_the_assignment_of_its_consumer() -> None:
    driver = asking(1, 2)
    driver.fakes[1].held = {A0: 50}
    driver.fakes[2].held = {A1: 70}
    driver.answers()
    assert driver.view(1).held == {A0}
    assert driver.view(2).held == {A1}
    assert driver.measures(a_0=60, a_1=60) == ()
    assert driver.causes == [Cause.PERIODIC, Cause.NO_CHANGE]


def test_messages_of_a_consumer_before_its_response_are_ignored() -> None:
    driver = asking(1)
    driver.fakes[1].held = {A0: 50}
    driver.reports(1)
    driver.hears(driver.stopped(1, None, {A0: 60}))
    assert (driver.view(1).held, driver.view(1).report, driver.view(1).has_reported_holdings) == (
        frozenset(),
        None,
        False,
    )
    driver.answers(1)
    assert driver.view(1).held == {A0}
    driver.hears(driver.stopped(1, None, {A0: 60}))
    assert driver.view(1).held == frozenset()


def test_a_response_to_another_controller_is_passed_over() -> None:
    driver = asking(1)
    assert driver.hears(response(1, 90, epoch=OTHER_EPOCH)) == ()
    assert not driver.view(1).has_reported_holdings


def test_the_ready_of_a_consumer_that_starts_meanwhile_answers_the_query() -> None:
    driver = asking(1)
    assert driver.is_ready(1, A0, clean=False) == ()
    assert driver.causes == [Cause.ALL_KNOWN]
    assert driver.words == ["consumer 1: restarted after a crash, with 1 partition"]
    assert driver.view(1).held == {A0}


def test_the_response_of_a_replaced_incarnation_is_ignored() -> None:
    driver = asking(1)
    old = driver.fakes[1].incarnation
    driver.is_ready(1, A0)
    driver.hears(response(1, old))
    assert driver.view(1).held == {A0}
    assert driver.view(1).incarnation == driver.fakes[1].incarnation


def test_a_consumer_that_does_not_answer_is_queried_again_then_restarted_then_lost() -> None:
    driver = asking(1)
    assert driver.waits(29, silent=[1]) == ()
    assert driver.waits(1, silent=[1]) == (query(1, 2),)
    assert driver.waits(30, silent=[1]) == (query(1, 3),)
    assert driver.waits(30, silent=[1]) == (restart(1),)
    assert driver.words == ["consumer 1: did not answer the query for its state; restarting it"]
    assert driver.waits(179, silent=[1]) == ()
    assert driver.state.stage is Stage.SYNCHRONIZE
    assert driver.waits(1, silent=[1]) == (delete(1),)
    assert driver.words[0] == "consumer 1: neither answers nor comes back; giving it up with 0 partitions"
    assert driver.causes == [Cause.ALL_KNOWN, Cause.HANDOVER, Cause.NO_CHANGE]
    assert driver.phases == {1: "lost"}


def test_partitions_of_a_lost_consumer_are_read_by_others_where_its_late_writes_are_refused() -> None:
    driver = asking(1, driver=Driver(rules({"a": PLAIN, "b": TO_B})))
    driver.waits(270, silent=[1])
    assert driver.phases == {1: "lost"}
    assert driver.measures(a_0=40, b_0=40) == (create(2),)
    assert driver.is_ready(2) == (driver.start(2, 1, b_0="recover"),)
    assert driver.answers(2) == ()
    assert driver.is_calm
    assert driver.goes(1) == (driver.start(2, 2, a_0="recover"),)
    assert driver.causes == [Cause.GONE, Cause.CHANGE]


def test_a_late_response_shows_what_a_lost_consumer_holds() -> None:
    driver = asking(1, driver=Driver(rules({"a": PLAIN})))
    driver.fakes[1].held = {A0: 10}
    driver.waits(270, silent=[1])
    assert driver.measures(a_0=40, a_1=40) == ()
    driver.answers(1)
    assert driver.waits(5) == (create(2),)
    assert driver.is_ready(2) == (driver.start(2, 1, a_1="recover"),)


def test_two_consumers_with_one_partition_both_stop_it_and_one_starts_it() -> None:
    driver = asking(1, 2)
    driver.fakes[1].held = {A0: 50}
    driver.fakes[2].held = {A0: 40, A1: 10}
    driver.answers()
    assert driver.measures(a_0=40, a_1=20) == (driver.stop(1, 1, A0), driver.stop(2, 1, A0))
    assert driver.causes == [Cause.DISAGREEMENT, Cause.CHANGE]
    assert driver.answers(1) == ()
    assert driver.answers(2) == (driver.start(2, 2, a_0=40),)  # from the lower of the two: nothing is passed over
    assert driver.answers(2) == (delete(1),)
    assert driver.held == {1: (), 2: (A0, A1)}


def test_the_cause_to_replan_does_not_depend_on_the_order_of_sets() -> None:
    driver = asking(1, 2)
    driver.fakes[1].held = {A0: 50, **{TopicPartition("c", number): 0 for number in range(20)}}
    driver.fakes[1].topics["c"] = TO_B
    driver.fakes[2].held = {A0: 40}
    driver.answers()
    driver.measures(a_0=40)
    assert driver.causes == [Cause.DISAGREEMENT, Cause.CHANGE]


def test_a_consumer_first_seen_leaving_is_lost_until_it_is_gone() -> None:
    driver = Driver(rules({"a": PLAIN}))
    driver.starts()
    assert driver.lists(leaving=[1]) == ()
    assert driver.words == ["consumer 1: leaving; what it holds is unknown until it is gone"]
    assert driver.causes == [Cause.ALL_KNOWN]
    assert driver.measures(a_0=40) == (create(2),)
    assert driver.is_ready(2) == ()
    assert driver.goes(1) == (driver.start(2, 1, a_0="recover"),)


def test_a_response_in_a_later_state_is_passed_over(pair: Driver) -> None:
    before = pair.view(1)
    assert pair.hears(response(1, pair.fakes[1].incarnation)) == ()
    assert pair.view(1) == before


def test_a_response_in_a_later_stage_counts_if_its_incarnation_is_newer(pair: Driver) -> None:
    newer = pair.next_offset()
    pair.hears(response(1, newer))
    assert pair.causes[:2] == [Cause.DISAGREEMENT, Cause.CHANGE]
    assert pair.view(1).incarnation == newer


def test_a_response_of_the_number_s_former_consumer_is_ignored() -> None:
    driver = asking(1)
    late = driver.answer_of(1, driver.inbox[1][0])
    driver.goes(1)
    assert driver.measures(a_0=60) == (create(1),)
    assert driver.hears(late) == ()
    assert driver.phases == {1: "awaited"}


def test_an_unknown_consumer_in_a_later_list_is_queried_and_nothing_starts_until_it_answers(
    pair: Driver,
) -> None:
    assert pair.lists(1, 2, 3) == (query(3),)
    pair.fakes[3] = FakeConsumer(pair.next_offset(), {}, {"a": pair.service_of("a")})
    assert pair.measures(a_0=40, a_1=40, a_2=40, a_3=40, a_4=10) == ()
    assert pair.answers(3) == ()
    assert pair.waits(5) == (pair.start(3, 1, a_4="recover"),)


def test_a_consumer_that_is_no_longer_listed_is_gone(pair: Driver) -> None:
    pair.lists(2)
    assert pair.words[0] == "consumer 1: gone"
    assert pair.causes == [Cause.GONE, Cause.CHANGE]


def test_a_consumer_that_was_just_created_may_be_missing_in_a_list(alone: Driver) -> None:
    assert alone.measures(a_0=40) == (create(1),)
    assert alone.lists() == ()
    assert alone.phases == {1: "awaited"}


def test_messages_of_unknown_consumers_are_ignored(alone: Driver) -> None:
    nothing = SortedMapping[str, str]()
    stranger = ConsumerReport(ConsumerId(9), 50, SortedMapping(), nothing, 0.0, 0.0, False, 0.5, 0.5)
    before = alone.state
    assert alone.hears(stranger) == ()
    assert alone.state == before
