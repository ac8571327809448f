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
    Driver,
    create,
    delete,
    restart,
    rules,
)

from restow.controller.events import ServiceChanged
from restow.controller.transitions import Cause, Stage
from restow.model import SortedMapping
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.topic_service import TopicService

# Names and patterns.


def test_a_pattern_must_match_the_whole_name_and_a_name_counts_more() -> None:
    wanted = rules({"^shop.*": TO_A, "shop.orders": TO_B})
    assert wanted.service_of("shop.clicks") == TO_A
    assert wanted.service_of("shop.orders") == TO_B
    assert wanted.service_of("workshop") is None
    assert wanted.service_of("clicks") is None


def test_of_two_patterns_the_first_by_its_text_counts() -> None:
    assert rules({"^s.*": TO_B, "^.*": TO_A}).service_of("shop") == TO_A


def test_no_pattern_matches_the_group_s_own_topics_though_an_older_monitor_measures_them() -> None:
    wanted = replace(rules({"^.*": TO_A, "lake-query": TO_B}), own_topics=("lake-controller", "lake-query"))
    assert wanted.service_of("lake-controller") is None
    assert wanted.service_of("lake-orders") == TO_A
    assert wanted.service_of("lake-query") == TO_B


def test_partitions_of_topics_that_are_of_no_interest_are_left_alone(alone: Driver) -> None:
    assert alone.measures(c_0=50) == ()
    assert alone.causes == [Cause.PERIODIC, Cause.NO_CHANGE]


def test_each_topic_of_a_pattern_has_names_of_its_own() -> None:
    service = TopicService("lake/{topic}", format="avro", registry="http://registry")
    wanted = rules({"^shop.*": service})
    orders = wanted.service_of("shop.orders")
    assert orders == TopicService(
        "lake/shop.orders", format="avro", registry="http://registry", subject="shop.orders-value"
    )


# Topics that come and go.


def test_a_topic_that_is_added_has_its_name_in_the_table_s(pair: Driver) -> None:
    pair.measures(a_0=30, a_1=30, a_2=40, a_3=40, c_0=5)
    pair.changes("c", TopicService("lake/{topic}"))
    assert pair.state.service_of("c") == TopicService("lake/c")


def test_a_topic_that_is_added_is_read_from_then_on(pair: Driver) -> None:
    pair.measures(a_0=30, a_1=30, a_2=40, a_3=40, c_0=5)
    assert pair.changes("c", TO_B) == (pair.start(1, 1, c_0="recover"),)
    assert pair.causes == [Cause.TOPICS, Cause.CHANGE]


def test_a_topic_that_is_removed_is_stopped_cleanly_and_not_started_again(pair: Driver) -> None:
    assert pair.changes("a", None) == (pair.stop(1, 1, A0, A1), pair.stop(2, 1, A2, A3))
    assert pair.settles() == (delete(1), delete(2))
    assert pair.waits(100) == ()
    assert pair.phases == {1: "leaving", 2: "leaving"}


def test_a_topic_that_comes_again_goes_on_where_it_was_stopped(pair: Driver) -> None:
    pair.changes("a", None)
    pair.settles()
    assert pair.changes("a", TO_A) == (create(3), create(4))
    assert pair.is_ready(3) == (pair.start(3, 1, a_0=10, a_1=10),)


def test_an_update_without_news_changes_nothing(pair: Driver) -> None:
    assert pair.changes("a", TO_A) == ()
    assert pair.moved == ()


def test_a_removed_topic_is_known_before_the_platform_has_answered() -> None:
    driver = Driver()
    driver.starts()
    driver.changes("a", None)
    driver.lists()
    assert driver.measures(a_0=40) == ()


# Definitions.


def test_a_changed_definition_is_stopped_and_started_again_by_the_new_one(pair: Driver) -> None:
    assert pair.changes("a", ELSEWHERE) == (pair.stop(1, 1, A0, A1), pair.stop(2, 1, A2, A3))
    assert pair.causes == [Cause.TOPICS, Cause.CHANGE]
    assert pair.answers(1) == (pair.start(1, 2, a_0=10, a_1=10),)
    assert pair.answers(2) == (pair.start(2, 2, a_2=10, a_3=10),)
    assert pair.settles() == ()
    assert pair.is_calm


def test_a_consumer_never_has_two_definitions_of_a_topic_at_once(pair: Driver) -> None:
    pair.changes("a", ELSEWHERE)
    assert pair.hears(pair.stopped(1, 1, {A0: 10})) == ()
    assert pair.hears(pair.stopped(1, 1, {A1: 10})) == (pair.start(1, 2, a_0=10, a_1=10),)


def test_a_pending_start_by_an_old_definition_is_stopped_before_the_new_one_starts(alone: Driver) -> None:
    alone.measures(a_0=40)
    alone.is_ready(1)
    assert alone.changes("a", ELSEWHERE) == (alone.stop(1, 2, A0),)
    to_start, to_stop = alone.inbox[1]
    assert alone.hears(alone.answer_of(1, to_start)) == ()
    assert alone.hears(alone.answer_of(1, to_stop)) == (alone.start(1, 3, a_0=0),)


def test_a_consumer_found_with_an_old_definition_starts_again_by_the_new_one(pair: Driver) -> None:
    assert pair.is_ready(1, A0, A1) == ()
    assert pair.reports(1, definitions=SortedMapping({"a": ELSEWHERE.digest})) == ()
    assert pair.waits(5, silent=[1]) == (pair.stop(1, 1, A0, A1),)
    assert pair.causes == [Cause.TOPICS, Cause.CHANGE]
    assert pair.answers(1) == (pair.start(1, 2, a_0=10, a_1=10),)


def test_a_changed_start_position_is_no_other_definition(pair: Driver) -> None:
    latest = replace(TO_A, start="latest")
    assert pair.changes("a", latest) == ()
    assert pair.causes == [Cause.TOPICS, Cause.NO_CHANGE]


# Refusals.


def refused(driver: Driver) -> Driver:
    """Consumer 1 was commanded to start b-0 and refused it."""
    assert driver.measures(a_0=30, a_1=30, a_2=40, a_3=40, b_0=10) == (driver.start(1, 1, b_0="recover"),)
    assert driver.hears(driver.refused(1, 1, B0)) == ()
    driver.inbox[1].clear()
    return driver


def test_a_partition_that_is_refused_rests_and_is_tried_again_after_growing_pauses(pair: Driver) -> None:
    refused(pair)
    assert pair.causes == [Cause.REFUSED, Cause.NO_CHANGE]
    assert pair.words == ["consumer 1: refused 1 partition: no such table", "refused b: no such table"]
    assert pair.waits(9) == ()
    assert pair.waits(1) == (pair.start(1, 2, b_0="recover"),)
    assert pair.hears(pair.refused(1, 2, B0)) == ()
    assert pair.waits(19) == ()
    assert pair.waits(1) == (pair.start(1, 3, b_0="recover"),)


def test_the_pause_grows_to_twenty_times_the_first(pair: Driver) -> None:
    refused(pair)
    for sequence in range(2, 12):
        for _ in range(60):
            if pair.waits(5):
                break
        pair.hears(pair.refused(1, sequence, B0))
    assert pair.state.refused[B0].until_s - pair.now_s == 200.0


def test_a_refusal_is_flagged_until_the_partition_starts(pair: Driver) -> None:
    refused(pair)
    assert pair.flags == {"refused b": "no such table"}
    pair.waits(10)
    pair.answers(1)
    assert pair.words == ["refused b: resolved, its partitions are consumed"]
    assert (pair.flags, pair.state.refused) == ({}, SortedMapping())


def test_a_new_definition_is_tried_at_once(pair: Driver) -> None:
    refused(pair)
    assert pair.changes("b", ELSEWHERE) == (pair.start(1, 2, b_0="recover"),)
    assert pair.flags == {}


def test_a_topic_that_is_removed_is_no_longer_flagged(pair: Driver) -> None:
    refused(pair)
    assert pair.changes("b", None) == ()
    assert pair.flags == {}


def test_partitions_dropped_because_of_a_table_pause_too(pair: Driver) -> None:
    pair.fakes[1].held.pop(A1)
    assert pair.hears(pair.refused(1, None, A1)) == ()
    assert pair.waits(10) == (pair.start(1, 1, a_1="recover"),)


def test_partitions_that_another_consumer_took_over_are_recovered_at_once(pair: Driver) -> None:
    pair.fakes[1].held.pop(A1)
    assert pair.hears(pair.refused(1, None, A1, kind="replaced")) == (pair.start(1, 1, a_1="recover"),)
    assert pair.causes == [Cause.REFUSED, Cause.CHANGE]
    assert pair.flags == {}


# What consumers run as.


def test_a_new_capacity_counts_at_once(pair: Driver) -> None:
    assert pair.changes_consumers(ConsumerSettings(capacity_bytes_per_s=80.0)) == ()
    bigger = ConsumerSettings(memory_mb=1024, cores=1.0, capacity_bytes_per_s=80.0)
    assert pair.waits(5) == (create(3, bigger), create(4, bigger))
    assert pair.causes == [Cause.OVERLOAD, Cause.CHANGE]


def test_other_settings_count_for_consumers_that_are_created_or_restarted_from_then_on(pair: Driver) -> None:
    env = SortedMapping({"LOG_LEVEL": "debug"})
    assert pair.changes_consumers(ConsumerSettings(image="restow:2", memory_mb=2048, cores=2.0, env=env)) == ()
    settings = ConsumerSettings("restow:2", 2048, 2.0, 100.0, env)
    assert pair.waits(60, silent=[1]) == (restart(1, settings),)
    assert pair.measures(a_0=60, a_1=60, a_2=40, a_3=40) == (create(3, settings),)


def test_the_newest_word_on_consumers_counts_alone_as_after_a_restart(pair: Driver) -> None:
    pair.changes_consumers(ConsumerSettings(image="restow:2", env=SortedMapping({"A": "1"})))
    pair.changes_consumers(ConsumerSettings(memory_mb=512))
    assert pair.state.consumer_settings == ConsumerSettings(None, 512, 1.0, 100.0)
    pair.changes_consumers(ConsumerSettings())
    assert pair.state.consumer_settings == SETTINGS


def test_the_stage_does_not_change_because_of_settings(pair: Driver) -> None:
    pair.changes_consumers(ConsumerSettings(memory_mb=512))
    assert (pair.state.stage, pair.moved) == (Stage.SENTINEL, ())


def test_an_update_of_a_topic_can_be_reset(pair: Driver) -> None:
    pair.changes("a", None)
    pair.settles()
    assert pair.held == {1: (), 2: ()}
    assert pair.happens(ServiceChanged(ServiceUpdate("reset", "a"))) == (create(3), create(4))
    assert pair.state.updates == SortedMapping()
    assert pair.is_ready(3) == (pair.start(3, 1, a_0=10, a_1=10),)


def test_a_start_refused_because_another_consumer_writes_is_retried_after_a_pause(pair: Driver) -> None:
    assert pair.is_ready(1) == (pair.start(1, 1, a_0="recover", a_1="recover"),)
    assert pair.hears(pair.refused(1, 1, A0, A1, kind="replaced")) == ()
    assert pair.waits(9) == ()
    assert pair.waits(6) == (pair.start(1, 2, a_0="recover", a_1="recover"),)
