"""Pause and recommend only: nothing is done for load, and partitions that no consumer reads are recovered."""

from tests.support.controller_driver import A0, A1, A2, A3, B0, ELSEWHERE, SETTINGS, Driver, create, rules, stopping

from restow.controller.effects import Noted
from restow.controller.transitions import Cause, Stage
from restow.picture.waits import waits
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.messages.desired import GroupPause, RecommendOnly
from restow.protocol.messages.service import ServiceUpdate

ONE_PM = "2026-03-01T13:00:00Z"
HOUR_S = 3600.0
FOR_AN_HOUR = GroupPause(True, ONE_PM, "anna@host-a", None, "maintenance")
WITHOUT_END = GroupPause(True)
RESUMED = GroupPause(False, by="anna@host-a", reason="done")
RECOMMEND, CARRY_OUT = RecommendOnly(True), RecommendOnly(False)


def notes_of(driver: Driver, kind: str) -> list[str]:
    return [note.words for note in driver.notes if note.kind == kind]


def last_answer(driver: Driver) -> tuple[bool, str]:
    answer = driver.state.desired.answers[-1]
    return answer.taken, answer.words


def is_paused(driver: Driver) -> bool:
    return driver.state.is_paused


def overloads(driver: Driver) -> tuple[object, ...]:
    return driver.measures(a_0=60, a_1=40, a_2=40, a_3=40)


# Pauses begin and end.


def test_a_paused_group_does_not_grow_and_grows_when_it_is_resumed(pair: Driver) -> None:
    pair.desires(WITHOUT_END)
    assert overloads(pair) == ()
    assert pair.is_calm
    assert pair.desires(RESUMED) == (create(3),)
    assert pair.causes == [Cause.RESUMED, Cause.CHANGE]
    assert Noted("cleared", "paused", "resumed, by anna@host-a: done") in pair.notes


def test_a_paused_group_does_not_shrink(pair: Driver) -> None:
    pair.desires(WITHOUT_END)
    pair.measures(a_0=4, a_1=4, a_2=4, a_3=4)
    assert pair.waits(200) == ()
    pair.desires(RESUMED)
    pair.settles()
    assert sorted(pair.phases.values()) == ["leaving", "ready"]


def test_a_pause_says_until_when_by_whom_and_why(pair: Driver) -> None:
    pair.desires(FOR_AN_HOUR)
    words = "until 2026-03-01 13:00:00 UTC, by anna@host-a: maintenance"
    assert [line for line in notes_of(pair, "flag") if line.startswith(words)]
    assert last_answer(pair) == (True, "paused until 2026-03-01 13:00:00 UTC")
    assert waits(pair.state)[0] == f"the end of the pause: paused {words}"


def test_a_pause_ends_by_the_wall_clock_with_a_fresh_look(pair: Driver) -> None:
    pair.desires(FOR_AN_HOUR)
    overloads(pair)
    pair.waits(HOUR_S - 1)
    assert overloads(pair) == ()
    assert pair.ticks(1)[-1] == create(3)
    assert notes_of(pair, "cleared") == ["the pause has ended, as it was set to"]
    assert pair.causes == [Cause.RESUMED, Cause.CHANGE]


def test_a_clock_that_jumps_ends_a_pause_early_or_late_and_does_nothing_else(pair: Driver) -> None:
    pair.desires(FOR_AN_HOUR)
    pair.clock_off_s = -2 * HOUR_S
    pair.waits(2 * HOUR_S)
    assert is_paused(pair)
    pair.clock_off_s = 5 * HOUR_S
    assert pair.ticks(1) == ()
    assert not is_paused(pair)
    pair.clock_off_s = -2 * HOUR_S
    pair.ticks(1)
    assert not is_paused(pair)


def test_a_pause_whose_end_has_passed_is_refused_in_words(pair: Driver) -> None:
    pair.desires(GroupPause(True, "2026-03-01T11:00:00Z"))
    assert not is_paused(pair)
    assert last_answer(pair) == (False, "not paused: its end, 2026-03-01 11:00:00 UTC, has passed")
    pair.desires(RESUMED)
    assert last_answer(pair) == (True, "the group was not paused")


def test_a_controller_that_starts_knows_of_the_pause_before_its_first_decision() -> None:
    driver = Driver()
    for record in (FOR_AN_HOUR, RESUMED, WITHOUT_END):
        driver.desires(record)
        assert driver.notes == ()
    driver.takes_over({1: (A0, A1), 2: (A2, A3)})
    [note] = notes_of(driver, "flag")
    assert note.startswith("until it is resumed; nothing is scaled")
    assert overloads(driver) == ()
    assert driver.is_calm


# Recovery is allowed.


def test_an_unread_partition_is_given_to_a_consumer_while_paused(pair: Driver) -> None:
    pair.desires(WITHOUT_END)
    assert pair.measures(a_0=45, a_1=60, a_2=40, a_3=30, b_0=1) == (pair.start(2, 1, b_0="recover"),)


def test_a_consumer_is_created_while_paused_only_for_partitions_that_have_no_room(pair: Driver) -> None:
    pair.desires(WITHOUT_END)
    assert pair.measures(a_0=60, a_1=40, a_2=60, a_3=40, b_0=50) == (create(3),)
    assert pair.is_ready(3) == (pair.start(3, 1, b_0="recover"),)
    pair.settles()
    assert pair.held == {1: (A0, A1), 2: (A2, A3), 3: (B0,)}
    assert pair.is_calm


def test_a_partition_that_two_consumers_hold_stays_with_one_of_them_while_paused() -> None:
    driver = Driver()
    driver.desires(WITHOUT_END)
    driver.takes_over({1: (A0, A1), 2: (A1, A2, A3)})
    stops = (driver.stop(1, 1, A1), driver.stop(2, 1, A1))
    assert driver.measures(a_0=60, a_1=40, a_2=60, a_3=40) == stops, "no consumer is created"
    driver.settles()
    assert driver.held == {1: (A0, A1), 2: (A2, A3)}
    assert driver.is_calm


def test_the_partitions_of_a_consumer_that_vanished_are_read_again_while_paused(pair: Driver) -> None:
    pair.desires(WITHOUT_END)
    pair.measures(a_0=10, a_1=10, a_2=10, a_3=10)
    pair.goes(2)
    pair.settles()
    assert pair.held[1] == (A0, A1, A2, A3)
    assert pair.is_calm


def test_a_silent_consumer_is_restarted_while_paused(pair: Driver) -> None:
    pair.desires(WITHOUT_END)
    requests = pair.waits(60, silent=[2])
    assert [request for request in requests if getattr(request, "action", "") == "restart"]
    assert pair.phases == {1: "ready", 2: "restarted"}


def test_least_consumers_is_no_reason_to_create_one_while_paused() -> None:
    driver = Driver(rules(least_consumers=2)).takes_over({1: (A0, A1), 2: (A2, A3)})
    driver.measures(a_0=10, a_1=10, a_2=10, a_3=10)
    driver.desires(WITHOUT_END)
    driver.goes(2)
    driver.settles()
    driver.waits(300)
    assert driver.phases == {1: "ready"}
    assert driver.desires(RESUMED) == (create(2),)


def test_topics_are_followed_while_paused(pair: Driver) -> None:
    pair.desires(WITHOUT_END)
    pair.changes("a", ELSEWHERE)
    pair.settles()
    assert pair.held == {1: (A0, A1), 2: (A2, A3)}
    assert {fake.topics["a"] for fake in pair.fakes.values()} == {ELSEWHERE}
    pair.changes("a", None)
    pair.settles()
    assert pair.held == {1: (), 2: ()}
    assert pair.phases == {1: "ready", 2: "ready"}


# What is under way.


def test_a_plan_whose_consumer_is_not_ready_yet_moves_nothing_after_a_pause(pair: Driver) -> None:
    overloads(pair)
    pair.desires(WITHOUT_END)
    assert pair.causes == [Cause.HELD, Cause.CHANGE]
    pair.is_ready(3)
    pair.settles()
    assert pair.held == {1: (A0, A1), 2: (A2, A3), 3: ()}
    assert pair.is_calm
    assert pair.phases == {1: "ready", 2: "ready", 3: "ready"}


def test_a_move_whose_stop_was_sent_is_completed_while_paused(pair: Driver) -> None:
    overloads(pair)
    assert pair.is_ready(3) == (pair.stop(1, 1, A1),)
    assert pair.desires(WITHOUT_END) == ()
    pair.settles()
    assert pair.held == {1: (A0,), 2: (A2, A3), 3: (A1,)}
    assert pair.is_calm


def test_a_consumer_that_was_being_closed_keeps_what_is_left_while_paused(pair: Driver) -> None:
    pair.measures(a_0=40, a_1=4, a_2=4, a_3=4)
    pair.waits(65)
    assert pair.state.stage is Stage.MANAGE
    pair.desires(WITHOUT_END)
    pair.settles()
    pair.waits(300)
    assert set(pair.phases.values()) == {"ready"}
    assert sorted(each for held in pair.held.values() for each in held) == [A0, A1, A2, A3]


# Settings wait.


def test_new_settings_wait_while_paused_and_are_rolled_afterwards(pair: Driver) -> None:
    pair.lists(1, 2, settings=SETTINGS.fingerprint)
    pair.desires(WITHOUT_END)
    pair.changes_consumers(ConsumerSettings(memory_mb=2048))
    pair.waits(300)
    assert set(pair.phases.values()) == {"ready"}
    assert pair.state.flags["older settings"].endswith("; they wait, because the group is paused")
    pair.desires(RESUMED)
    pair.waits(20)
    assert sorted(pair.phases.values()) == ["ready", "rolling"]


def test_new_settings_do_not_wait_while_a_partition_is_refused_because_they_may_be_the_remedy(pair: Driver) -> None:
    pair.lists(1, 2, settings=SETTINGS.fingerprint)
    pair.measures(a_0=10, a_1=10, a_2=10, a_3=10)
    pair.desires(WITHOUT_END)
    pair.fakes[2].held.pop(A2)
    pair.hears(pair.refused(2, None, A2, kind="transform"))
    pair.changes_consumers(ConsumerSettings(memory_mb=2048))
    for consumer in (1, 2):
        pair.reports(consumer)
    pair.measures()
    assert pair.phases == {1: "ready", 2: "rolling"}  # it holds less than consumer 1


# Recommend only.


def test_a_decision_is_recommended_once_and_not_carried_out(pair: Driver) -> None:
    pair.desires(RECOMMEND)
    assert overloads(pair) == ()
    assert pair.causes == [Cause.OVERLOAD, Cause.RECOMMENDED]
    assert waits(pair.state) == ("`restow recommend off`: the last decision is recommended, and not carried out",)
    summary, *reasons = notes_of(pair, "decision")
    assert summary.startswith("recommended, not carried out: 2 -> 3 consumers, 1 move")
    assert any(reason.startswith("a-1") for reason in reasons)
    for _ in range(30):
        pair.ticks(5)
        assert overloads(pair) == ()
        assert notes_of(pair, "decision") == []
    assert pair.is_calm
    assert pair.desires(CARRY_OUT) == (create(3),)
    assert pair.causes == [Cause.RESUMED, Cause.CHANGE]


def test_another_recommendation_is_noted(pair: Driver) -> None:
    pair.desires(RECOMMEND)
    overloads(pair)
    pair.ticks(5)
    assert pair.measures(a_0=60, a_1=40, a_2=60, a_3=40) == ()
    assert pair.causes == [Cause.OVERLOAD, Cause.RECOMMENDED]


def test_a_consumer_that_would_be_closed_stays_when_it_is_only_recommended(pair: Driver) -> None:
    pair.desires(RECOMMEND)
    pair.measures(a_0=4, a_1=4, a_2=4, a_3=4)
    assert pair.waits(65) == ()
    assert notes_of(pair, "decision")[0].startswith("recommended, not carried out: 2 -> 1 consumers")
    assert pair.phases == {1: "ready", 2: "ready"}


def test_unread_partitions_are_recovered_when_decisions_are_only_recommended(pair: Driver) -> None:
    pair.desires(RECOMMEND)
    assert pair.measures(a_0=60, a_1=40, a_2=40, a_3=40, b_0=1) == (pair.start(2, 1, b_0="recover"),)
    pair.settles()
    assert pair.waits(10) == ()
    assert notes_of(pair, "decision")[0].startswith("recommended, not carried out")


def test_a_pause_outranks_recommendations(pair: Driver) -> None:
    pair.desires(RECOMMEND)
    pair.desires(WITHOUT_END)
    assert overloads(pair) == ()
    assert notes_of(pair, "decision") == []
    assert pair.desires(RESUMED) == ()
    assert notes_of(pair, "decision")[0].startswith("recommended, not carried out")


# The least and the most consumers.


def test_the_service_topics_limits_override_those_of_the_rules(pair: Driver) -> None:
    assert pair.desires(ServiceUpdate("consumers", consumers=ConsumerSettings(least_consumers=4))) == (
        create(3),
        create(4),
    )
    assert pair.causes == [Cause.LIMITS, Cause.CHANGE]
    assert (pair.state.least_consumers, pair.state.most_consumers) == (4, None)


def test_a_lower_limit_above_the_rules_upper_one_counts_and_so_does_an_upper_below_the_lower() -> None:
    driver = Driver(rules(least_consumers=2, most_consumers=3)).takes_over()
    for said, expected in (
        (ConsumerSettings(least_consumers=5), (5, 5)),
        (ConsumerSettings(most_consumers=1), (1, 1)),
        (ConsumerSettings(), (2, 3)),
    ):
        driver.desires(ServiceUpdate("consumers", consumers=said))
        assert (driver.state.least_consumers, driver.state.most_consumers) == expected


def test_no_more_consumers_are_created_than_the_service_topic_allows(pair: Driver) -> None:
    pair.desires(ServiceUpdate("consumers", consumers=ConsumerSettings(most_consumers=2)))
    assert overloads(pair) == ()
    assert "too few consumers" in pair.state.flags
    assert pair.desires(ServiceUpdate("consumers", consumers=ConsumerSettings())) == (create(3),)


def test_limits_wait_for_the_end_of_a_pause(pair: Driver) -> None:
    pair.desires(WITHOUT_END)
    assert pair.desires(ServiceUpdate("consumers", consumers=ConsumerSettings(least_consumers=3))) == ()
    assert pair.desires(RESUMED) == (create(3),)


def test_a_move_whose_stop_was_lost_with_its_process_is_not_made_while_paused(pair: Driver) -> None:
    stopping(pair)
    pair.crashes(1)
    pair.desires(WITHOUT_END)
    assert pair.is_ready(1, A0, A1, clean=False) == ()
    pair.settles()
    assert pair.waits(30) == ()
    assert pair.held[1] == (A0, A1)
