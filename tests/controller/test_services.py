"""What is consumed: topics by name and by pattern, added, removed and changed while running; what is refused; and what
consumers run as."""

from dataclasses import replace

from tests.support.controller_driver import (
    A0,
    A1,
    A2,
    A3,
    B0,
    ELSEWHERE,
    SETTINGS,
    TO_A,
    TO_B,
    Told,
    create,
    delete,
    restart,
    rules,
)

from restow.controller.events import ServiceChanged
from restow.controller.transitions import Cause, Stage
from restow.model import SortedMapping
from restow.protocol.messages import ConsumerSettings, ServiceUpdate

# Names and patterns.


def test_a_pattern_must_match_the_whole_name_and_a_name_counts_more() -> None:
    wanted = rules({"^shop.*": TO_A, "shop.orders": TO_B})
    assert wanted.service_of("shop.clicks") == TO_A
    assert wanted.service_of("shop.orders") == TO_B
    assert wanted.service_of("workshop") is None
    assert wanted.service_of("clicks") is None


def test_of_two_patterns_the_first_by_its_text_counts() -> None:
    assert rules({"^s.*": TO_B, "^.*": TO_A}).service_of("shop") == TO_A


def test_partitions_of_topics_that_are_of_no_interest_are_left_alone(alone: Told) -> None:
    assert alone.measures(c_0=50) == ()
    assert alone.causes == [Cause.PERIODIC, Cause.NO_CHANGE]


# Topics that come and go.


def test_a_topic_that_is_added_is_read_from_then_on(pair: Told) -> None:
    pair.measures(a_0=30, a_1=30, a_2=40, a_3=40, c_0=5)
    assert pair.changes("c", TO_B) == (pair.start(1, 1, c_0="recover"),)
    assert pair.causes == [Cause.TOPICS, Cause.CHANGE]


def test_a_topic_that_is_removed_is_stopped_cleanly_and_not_started_again(pair: Told) -> None:
    assert pair.changes("a", None) == (pair.stop(1, 1, A0, A1), pair.stop(2, 1, A2, A3))
    assert pair.settles() == (delete(1), delete(2))
    assert pair.waits(100) == ()
    assert pair.phases == {1: "leaving", 2: "leaving"}


def test_a_topic_that_comes_again_goes_on_where_it_was_stopped(pair: Told) -> None:
    pair.changes("a", None)
    pair.settles()
    assert pair.changes("a", TO_A) == (create(3), create(4))
    assert pair.is_ready(3) == (pair.start(3, 1, a_0=10, a_1=10),)


def test_an_update_that_says_nothing_new_changes_nothing(pair: Told) -> None:
    assert pair.changes("a", TO_A) == ()
    assert pair.moved == ()


def test_a_removed_topic_is_known_before_the_platform_has_answered() -> None:
    told = Told()
    told.starts()
    told.changes("a", None)
    told.lists()
    assert told.measures(a_0=40) == ()


# Definitions.


def test_a_changed_definition_is_stopped_and_started_again_by_the_new_one(pair: Told) -> None:
    assert pair.changes("a", ELSEWHERE) == (pair.stop(1, 1, A0, A1), pair.stop(2, 1, A2, A3))
    assert pair.causes == [Cause.TOPICS, Cause.CHANGE]
    assert pair.answers(1) == (pair.start(1, 2, a_0=10, a_1=10),)
    assert pair.answers(2) == (pair.start(2, 2, a_2=10, a_3=10),)
    assert pair.settles() == ()
    assert pair.is_calm


def test_a_consumer_never_has_two_definitions_of_a_topic_at_once(pair: Told) -> None:
    pair.changes("a", ELSEWHERE)
    assert pair.hears(pair.stopped(1, 1, {A0: 10})) == ()
    assert pair.hears(pair.stopped(1, 1, {A1: 10})) == (pair.start(1, 2, a_0=10, a_1=10),)


def test_what_was_told_to_start_by_an_old_definition_is_stopped_before_the_new_one(alone: Told) -> None:
    alone.measures(a_0=40)
    alone.is_ready(1)
    assert alone.changes("a", ELSEWHERE) == (alone.stop(1, 2, A0),)
    to_start, to_stop = alone.inbox[1]
    assert alone.hears(alone.answer_of(1, to_start)) == ()
    assert alone.hears(alone.answer_of(1, to_stop)) == (alone.start(1, 3, a_0=0),)


def test_one_that_is_found_with_an_old_definition_starts_again_by_the_new_one(pair: Told) -> None:
    assert pair.is_ready(1, A0, A1) == ()
    assert pair.reports(1, definitions=SortedMapping({"a": ELSEWHERE.digest})) == ()
    assert pair.waits(5, silent=[1]) == (pair.stop(1, 1, A0, A1),)
    assert pair.causes == [Cause.TOPICS, Cause.CHANGE]
    assert pair.answers(1) == (pair.start(1, 2, a_0=10, a_1=10),)


def test_a_changed_start_position_is_no_other_definition(pair: Told) -> None:
    latest = replace(TO_A, start="latest")
    assert pair.changes("a", latest) == ()
    assert pair.causes == [Cause.TOPICS, Cause.NO_CHANGE]


# Refusals.


def refused(told: Told) -> Told:
    """b-0 was told to consumer 1 and is refused."""
    assert told.measures(a_0=30, a_1=30, a_2=40, a_3=40, b_0=10) == (told.start(1, 1, b_0="recover"),)
    assert told.hears(told.refused(1, 1, B0)) == ()
    told.inbox[1].clear()
    return told


def test_a_partition_that_is_refused_rests_and_is_tried_again_after_growing_pauses(pair: Told) -> None:
    refused(pair)
    assert pair.causes == [Cause.REFUSED, Cause.NO_CHANGE]
    assert pair.words == ["consumer 1: refused 1 partition: no such table", "refused b: no such table"]
    assert pair.waits(9) == ()
    assert pair.waits(1) == (pair.start(1, 2, b_0="recover"),)
    assert pair.hears(pair.refused(1, 2, B0)) == ()
    assert pair.waits(19) == ()
    assert pair.waits(1) == (pair.start(1, 3, b_0="recover"),)


def test_the_pause_grows_to_twenty_times_the_first(pair: Told) -> None:
    refused(pair)
    for sequence in range(2, 12):
        for _ in range(60):
            if pair.waits(5):
                break
        pair.hears(pair.refused(1, sequence, B0))
    assert pair.state.refused[B0].until_s - pair.now_s == 200.0


def test_a_refusal_is_flagged_until_the_partition_starts(pair: Told) -> None:
    refused(pair)
    assert pair.flags == {"refused b": "no such table"}
    pair.waits(10)
    pair.answers(1)
    assert pair.words == ["refused b: resolved, its partitions are consumed"]
    assert (pair.flags, pair.state.refused) == ({}, SortedMapping())


def test_a_new_definition_is_tried_at_once(pair: Told) -> None:
    refused(pair)
    assert pair.changes("b", ELSEWHERE) == (pair.start(1, 2, b_0="recover"),)
    assert pair.flags == {}


def test_a_topic_that_is_removed_is_no_longer_flagged(pair: Told) -> None:
    refused(pair)
    assert pair.changes("b", None) == ()
    assert pair.flags == {}


def test_what_is_dropped_because_of_a_table_rests_too(pair: Told) -> None:
    pair.fellows[1].held.pop(A1)
    assert pair.hears(pair.refused(1, None, A1)) == ()
    assert pair.waits(10) == (pair.start(1, 1, a_1="recover"),)


def test_what_another_took_over_is_recovered_at_once(pair: Told) -> None:
    pair.fellows[1].held.pop(A1)
    assert pair.hears(pair.refused(1, None, A1, kind="replaced")) == (pair.start(1, 1, a_1="recover"),)
    assert pair.causes == [Cause.REFUSED, Cause.CHANGE]
    assert pair.flags == {}


# What consumers run as.


def test_a_new_capacity_counts_at_once(pair: Told) -> None:
    assert pair.changes_consumers(ConsumerSettings(capacity_bytes_per_s=80.0)) == ()
    bigger = ConsumerSettings(memory_mb=1024, cores=1.0, capacity_bytes_per_s=80.0)
    assert pair.waits(5) == (create(3, bigger), create(4, bigger))
    assert pair.causes == [Cause.OVERLOAD, Cause.CHANGE]


def test_other_settings_count_for_consumers_that_are_created_or_restarted_from_then_on(pair: Told) -> None:
    env = SortedMapping({"LOG_LEVEL": "debug"})
    assert pair.changes_consumers(ConsumerSettings(image="restow:2", memory_mb=2048, cores=2.0, env=env)) == ()
    settings = ConsumerSettings("restow:2", 2048, 2.0, 100.0, env)
    assert pair.waits(60, silent=[1]) == (restart(1, settings),)
    assert pair.measures(a_0=60, a_1=60, a_2=40, a_3=40) == (create(3, settings),)


def test_the_newest_word_on_consumers_counts_alone_as_after_a_restart(pair: Told) -> None:
    pair.changes_consumers(ConsumerSettings(image="restow:2", env=SortedMapping({"A": "1"})))
    pair.changes_consumers(ConsumerSettings(memory_mb=512))
    assert pair.state.consumer_settings == ConsumerSettings(None, 512, 1.0, 100.0)
    pair.changes_consumers(ConsumerSettings())
    assert pair.state.consumer_settings == SETTINGS


def test_the_stage_does_not_change_because_of_settings(pair: Told) -> None:
    pair.changes_consumers(ConsumerSettings(memory_mb=512))
    assert (pair.state.stage, pair.moved) == (Stage.SENTINEL, ())


def test_what_was_said_of_a_topic_can_be_taken_back(pair: Told) -> None:
    pair.changes("a", None)
    pair.settles()
    assert pair.held == {1: (), 2: ()}
    assert pair.happens(ServiceChanged(ServiceUpdate("reset", "a"))) == (create(3), create(4))
    assert pair.state.updates == SortedMapping()
    assert pair.is_ready(3) == (pair.start(3, 1, a_0=10, a_1=10),)


def test_a_start_that_somebody_elses_writing_makes_impossible_is_tried_again_after_a_pause(pair: Told) -> None:
    assert pair.is_ready(1) == (pair.start(1, 1, a_0="recover", a_1="recover"),)
    assert pair.hears(pair.refused(1, 1, A0, A1, kind="replaced")) == ()
    assert pair.waits(9) == ()
    assert pair.waits(6) == (pair.start(1, 2, a_0="recover", a_1="recover"),)
