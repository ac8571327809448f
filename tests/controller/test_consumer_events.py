"""What consumers say, and what follows for what they may hold."""

from tests.support.controller_driver import A0, A1, A2, A3, B0, EPOCH, Driver, create, delete

from restow.controller.transitions import Cause, Stage
from restow.model import ConsumerId, SortedMapping
from restow.protocol.messages.commands import StartConsumingCommand, StopConsumingCommand
from restow.protocol.messages.consumer_events import ConsumerReady, StartConsumingEvent, StopConsumingEvent
from restow.protocol.messages.reports import Gap


def stopping(driver: Driver) -> Driver:
    """Consumer 1 is commanded to stop a-1, for consumer 3."""
    assert driver.measures(a_0=60, a_1=40, a_2=40, a_3=40) == (create(3),)
    assert driver.is_ready(3) == (driver.stop(1, 1, A1),)
    return driver


def starting(driver: Driver) -> Driver:
    """Consumer 1 is commanded to start a-0 and a-1, and has not answered."""
    driver.measures(a_0=40, a_1=40)
    assert driver.is_ready(1) == (driver.start(1, 1, a_0="recover", a_1="recover"),)
    return driver


# Incarnations.


def test_messages_of_an_older_incarnation_are_ignored(pair: Driver) -> None:
    stopping(pair)
    old = pair.fakes[1].incarnation
    pair.is_ready(1, A0, A1, clean=False)
    before = pair.state
    assert pair.hears(StopConsumingEvent(ConsumerId(1), old, EPOCH, 1, SortedMapping({A1: 5}))) == ()
    assert pair.reports(1, incarnation=old, lag_records=SortedMapping()) == ()
    assert pair.state == before


def test_a_ready_that_is_read_twice_counts_once(pair: Driver) -> None:
    pair.is_ready(1, A0, A1)
    before = pair.state
    again = ConsumerReady(ConsumerId(1), True, (), SortedMapping(), SortedMapping())
    pair.offset -= 1
    assert pair.hears(again) == ()
    assert pair.state == before


def test_a_newer_incarnation_obeys_none_of_the_old_commands_and_is_commanded_anew(pair: Driver) -> None:
    stopping(pair)
    assert pair.is_ready(1, A0, A1, clean=False) == (pair.stop(1, 2, A1),)
    assert pair.moved == ()
    assert [sent.command.sequence for sent in pair.view(1).sent] == [2]


def test_a_consumer_that_crashed_before_it_obeyed_a_start_gets_the_start_again(alone: Driver) -> None:
    starting(alone)
    assert alone.is_ready(1, clean=False) == (alone.start(1, 2, a_0="recover", a_1="recover"),)
    assert alone.causes == [Cause.DISAGREEMENT, Cause.CHANGE]


def test_the_ready_of_a_consumer_that_crashed_after_it_obeyed_a_start_answers_it(alone: Driver) -> None:
    starting(alone)
    assert alone.is_ready(1, A0, A1, clean=False) == ()
    assert alone.causes == [Cause.DONE]


def test_after_a_crash_with_its_volume_nothing_happens(pair: Driver) -> None:
    assert pair.is_ready(1, A0, A1, clean=False) == ()
    assert pair.moved == ()


def test_after_a_lost_volume_its_partitions_are_recovered(pair: Driver) -> None:
    assert pair.is_ready(1, clean=True) == (pair.start(1, 1, a_0="recover", a_1="recover"),)
    assert pair.causes == [Cause.DISAGREEMENT, Cause.CHANGE]


def test_a_newer_incarnation_without_a_ready_is_believed_when_it_reports(pair: Driver) -> None:
    pair.fakes[1].incarnation = newer = pair.next_offset()
    pair.fakes[1].held = {A0: 10}
    assert pair.reports(1) == (pair.start(1, 1, a_1="recover"),)
    assert pair.view(1).incarnation == newer
    assert pair.causes == [Cause.DISAGREEMENT, Cause.CHANGE]


# Reports.


def test_a_partition_missing_in_a_report_is_recovered(pair: Driver) -> None:
    pair.fakes[1].held = {A0: 10}
    assert pair.reports(1) == (pair.start(1, 1, a_1="recover"),)
    assert pair.causes == [Cause.DISAGREEMENT, Cause.CHANGE]
    assert pair.words[0] == "consumer 1: reports 1 partition, the controller assumed 2"


def test_a_partition_that_two_consumers_report_is_stopped_on_both_and_started_on_one(pair: Driver) -> None:
    pair.fakes[1].held[A2] = 30
    assert pair.reports(1) == (pair.stop(1, 1, A2), pair.stop(2, 1, A2))
    assert pair.settles() == (pair.start(2, 2, a_2=10),)
    assert pair.held == {1: (A0, A1), 2: (A2, A3)}


def test_a_report_is_not_compared_while_a_command_is_unanswered(pair: Driver) -> None:
    stopping(pair)
    pair.fakes[1].held.pop(A1)
    assert pair.reports(1) == ()
    assert pair.view(1).may_hold == {A0, A1}


def test_records_deleted_before_they_were_read_are_noted(pair: Driver) -> None:
    assert pair.reports(1, gaps=(Gap(A0, 3, 7), Gap(A1, 0, 1))) == ()
    assert pair.words == [
        "consumer 1: a-0: the records from 3 to 6, 4 in all, were deleted before they were read",
        "consumer 1: a-1: the records from 0 to 0, 1 in all, were deleted before they were read",
    ]


def test_a_definition_of_a_topic_that_is_not_held_keeps_nothing_from_starting(pair: Driver) -> None:
    pair.reports(1, definitions=SortedMapping({"a": pair.service_of("a").digest, "b": "0123456789ab"}))
    assert pair.measures(a_0=30, a_1=30, a_2=40, a_3=40, b_0=5) == (pair.start(1, 1, b_0="recover"),)


# Answers.


def test_a_repeated_answer_changes_nothing(pair: Driver) -> None:
    stopping(pair)
    answer = pair.stopped(1, 1, {A1: 17})
    assert pair.hears(answer) == (pair.start(3, 1, a_1=17),)
    before = pair.state
    assert pair.hears(answer) == ()
    assert pair.state == before


def test_an_answer_to_another_controller_is_passed_over(pair: Driver) -> None:
    stopping(pair)
    old = StopConsumingEvent(ConsumerId(1), pair.fakes[1].incarnation, EPOCH - 1, 1, SortedMapping({A1: 17}))
    assert pair.hears(old) == ()
    assert pair.view(1).may_hold == {A0, A1}


def test_an_answer_that_is_none_to_its_command_is_passed_over(pair: Driver) -> None:
    stopping(pair)
    before = pair.view(1).sent
    started = StartConsumingEvent(ConsumerId(1), pair.fakes[1].incarnation, EPOCH, 1, SortedMapping({A1: 17}))
    assert pair.hears(started) == ()
    assert pair.hears(pair.refused(1, 1, A1)) == ()
    assert pair.view(1).sent == before


def test_a_start_is_not_answered_by_a_stop_of_the_same_number(alone: Driver) -> None:
    starting(alone)
    assert alone.hears(alone.stopped(1, 1, {A0: 3, A1: 3})) == ()
    assert alone.view(1).may_hold == {A0, A1}


def test_an_answer_counts_only_for_the_partitions_of_its_command(alone: Driver) -> None:
    starting(alone)
    alone.hears(alone.started(1, 1, {A0: 0, B0: 0}))
    assert alone.view(1).held == {A0}
    assert alone.view(1).may_hold == {A0, A1}


def test_of_one_command_some_may_be_started_and_others_refused(alone: Driver) -> None:
    starting(alone)
    assert alone.hears(alone.started(1, 1, {A0: 0})) == ()
    assert alone.state.stage is Stage.MANAGE
    assert alone.hears(alone.refused(1, 1, A1)) == ()
    assert alone.causes == [Cause.REFUSED, Cause.NO_CHANGE]
    assert alone.view(1).held == {A0}
    assert alone.view(1).sent == ()


def test_a_stop_that_is_answered_settles_the_start_before_it(alone: Driver) -> None:
    starting(alone)
    alone.changes("a", None)
    assert alone.hears(alone.stopped(1, 2, {A0: None, A1: None})) == (delete(1),)


# Shutdowns that the controller did not request.


def test_a_consumer_that_shuts_down_on_its_own_is_waited_for_and_its_partitions_begin_where_it_stopped(
    pair: Driver,
) -> None:
    stop = pair.stopped(1, None, {A0: 55, A1: 66})
    pair.fakes[1].held = {}
    assert pair.hears(stop) == ()
    assert pair.words == ["consumer 1: shuts down, not on the controller's request; waiting for its restart"]
    assert pair.phases == {1: "restarted", 2: "ready"}
    assert pair.waits(5, silent=[1]) == ()
    assert pair.causes == [Cause.UNASSIGNED, Cause.CHANGE]
    assert pair.is_ready(1) == (pair.start(1, 1, a_0=55, a_1=66),)


def test_a_consumer_that_shuts_down_during_a_move_is_waited_for_too(pair: Driver) -> None:
    stopping(pair)
    assert pair.hears(pair.stopped(1, None, {A0: 55, A1: 66})) == (pair.start(3, 1, a_1=66),)
    assert pair.phases[1] == "restarted"
    assert pair.answers(3) == ()
    assert pair.state.stage is Stage.MANAGE
    assert pair.is_ready(1) == (pair.start(1, 2, a_0=55),)


def test_an_unanswered_start_may_be_held_until_its_consumer_is_back(alone: Driver) -> None:
    starting(alone)
    alone.hears(alone.started(1, 1, {A0: 0}))
    alone.hears(alone.stopped(1, None, {A0: 5}))
    assert alone.view(1).may_hold == {A1}


# What was commanded is a pure function of what was said.


def test_sequences_go_on_over_incarnations_and_commands_name_the_one_they_are_meant_for(pair: Driver) -> None:
    stopping(pair)
    first = pair.inbox[1][0]
    pair.is_ready(1, A0, A1)
    second = pair.inbox[1][0]
    assert isinstance(first, StopConsumingCommand | StartConsumingCommand)
    assert isinstance(second, StopConsumingCommand | StartConsumingCommand)
    assert (first.sequence, second.sequence) == (1, 2)
    assert first.incarnation < second.incarnation == pair.fakes[1].incarnation
