"""How long the controller waits for a consumer, and what it does then."""

from tests.support.controller_driver import A0, A1, PLAIN, Driver, create, delete, pair_of, restart, stopping

from restow.controller.transitions import Cause, Stage

# Unanswered commands.


def test_a_command_without_an_answer_is_repeated_with_its_number_and_then_its_consumer_restarted(pair: Driver) -> None:
    stopping(pair)
    assert pair.waits(29) == ()
    assert pair.waits(1) == (pair.stop(1, 1, A1),)
    assert pair.waits(30) == (pair.stop(1, 1, A1),)
    assert pair.waits(29) == ()
    assert pair.waits(1) == (restart(1),)
    assert pair.words == ["consumer 1: did not answer command 1; restarting it"]
    assert pair.waits(60) == ()


def test_the_oldest_of_several_unanswered_commands_is_repeated_first(alone: Driver) -> None:
    alone.measures(a_0=40, a_1=40)
    alone.is_ready(1)
    first = alone.start(1, 1, a_0="recover", a_1="recover")
    alone.changes("a", None)
    second = alone.stop(1, 2, A0, A1)
    assert alone.waits(30) == (first,)
    assert alone.hears(alone.answer_of(1, alone.inbox[1][0])) == ()
    assert alone.waits(1) == (second,)


def test_a_repeated_command_leaves_out_what_was_answered(alone: Driver) -> None:
    alone.measures(a_0=40, a_1=40)
    alone.is_ready(1)
    alone.hears(alone.refused(1, 1, A0, kind="transform"))
    retried, repeated = alone.start(1, 2, a_0="recover"), alone.start(1, 1, a_1="recover")
    assert alone.waits(30) == (retried, repeated)


def test_an_answer_to_a_repeated_command_is_as_good(pair: Driver) -> None:
    stopping(pair).waits(30)
    assert pair.hears(pair.stopped(1, 1, {A1: 17})) == (pair.start(3, 1, a_1=17),)


def test_a_restarted_consumer_gets_new_commands(pair: Driver) -> None:
    stopping(pair).waits(90)
    assert pair.phases == {1: "restarted", 2: "ready", 3: "ready"}
    assert pair.is_ready(1, A0, A1, clean=False) == (pair.stop(1, 2, A1),)
    assert pair.answers(1) == (pair.start(3, 1, a_1=10),)


def test_commands_wait_for_a_restarting_consumer(pair: Driver) -> None:
    pair.waits(60, silent=[1])
    pair.measures(a_0=60, a_1=60, a_2=40, a_3=40)
    assert pair.is_ready(3) == ()
    assert pair.is_ready(1, A0, A1, clean=False) == (pair.stop(1, 1, A0),)


# Silence and forced handover.


def test_a_silent_consumer_is_restarted(pair: Driver) -> None:
    assert pair.waits(59, silent=[1]) == ()
    assert pair.waits(1, silent=[1]) == (restart(1),)
    assert pair.words == ["consumer 1: silent for 60 s; restarting it"]
    assert pair.phases == {1: "restarted", 2: "ready"}
    assert pair.waits(5, silent=[1]) == ()


def test_a_consumer_that_comes_back_with_its_partitions_simply_continues(pair: Driver) -> None:
    pair.waits(60, silent=[1])
    assert pair.is_ready(1, A0, A1, clean=False) == ()
    assert pair.moved == ()
    assert pair.words == ["consumer 1: restarted after a crash, with 2 partitions"]
    assert pair.phases == {1: "ready", 2: "ready"}


def test_a_consumer_that_does_not_come_back_is_given_up_and_its_partitions_recover_elsewhere(pair: Driver) -> None:
    pair.waits(60, silent=[1])
    assert pair.waits(179, silent=[1]) == ()
    assert pair.waits(1, silent=[1]) == (delete(1), create(3))
    assert pair.causes == [Cause.HANDOVER, Cause.CHANGE]
    assert pair.words[0] == "consumer 1: neither answers nor comes back; giving it up with 2 partitions"
    assert pair.is_ready(3) == (pair.start(3, 1, a_0="recover", a_1="recover"),)
    pair.answers(3)
    assert pair.is_calm


def test_where_late_writes_would_be_taken_a_partition_waits_until_its_lost_consumer_is_gone() -> None:
    driver = pair_of(PLAIN)
    driver.waits(240, silent=[1])
    assert driver.phases == {1: "lost", 2: "ready", 3: "awaited"}
    words = "consumer 1: neither answers nor comes back; giving it up with 2 partitions, 2 of them wait"
    assert f"{words} until it is gone" in driver.words
    assert driver.is_ready(3) == ()
    assert driver.goes(1) == (driver.start(3, 1, a_0="recover", a_1="recover"),)


def test_a_lost_consumer_that_reports_its_stop_releases_its_partitions() -> None:
    driver = pair_of(PLAIN)
    driver.waits(240, silent=[1])
    assert driver.is_ready(3) == ()
    driver.hears(driver.stopped(1, None, {A0: 21, A1: 22}))
    assert driver.waits(5) == (driver.start(3, 1, a_0=21, a_1=22),)


def test_the_number_of_a_lost_consumer_is_free_when_it_is_gone(pair: Driver) -> None:
    assert pair.waits(240, silent=[1]) == (restart(1), delete(1), create(3))
    pair.goes(1)
    pair.is_ready(3)
    pair.settles()
    assert pair.measures(a_0=60, a_1=60, a_2=40, a_3=40) == (create(1),)


def test_a_lost_consumer_that_comes_back_stays_lost_and_is_deleted_again(pair: Driver) -> None:
    pair.waits(240, silent=[1])
    pair.is_ready(3)
    pair.answers(3)
    assert pair.is_ready(1, A0, A1) == ()
    assert pair.phases[1] == "lost"
    assert pair.waits(180) == (delete(1),)


def test_the_deletion_of_a_leaving_consumer_is_repeated_until_it_is_gone(pair: Driver) -> None:
    pair.measures(a_0=30, a_1=30, a_2=5, a_3=5)
    pair.waits(60)
    assert pair.settles() == (pair.start(1, 1, a_2=10, a_3=10), delete(2))
    assert pair.phases == {1: "ready", 2: "leaving"}
    assert pair.waits(180) == (delete(2),)
    assert pair.goes(2) == ()
    assert pair.words == ["consumer 2: gone"]
    assert pair.moved == ()


# Time that does not count.


def test_an_outage_restarts_no_consumer(pair: Driver) -> None:
    assert pair.waits(600, silent=[1, 2], measured=False, listening=False) == ()
    assert pair.phases == {1: "ready", 2: "ready"}
    assert pair.waits(59, silent=[1, 2]) == ()
    assert pair.waits(1, silent=[1, 2]) == (restart(1), restart(2))


def test_commands_are_not_repeated_into_an_outage(pair: Driver) -> None:
    stopping(pair)
    assert pair.waits(600, listening=False, silent=[1, 2, 3]) == ()
    assert pair.waits(30) == (pair.stop(1, 1, A1),)


def test_timeouts_do_not_run_while_the_controller_is_suspended(pair: Driver) -> None:
    pair.ticks(3600)
    assert pair.phases == {1: "ready", 2: "ready"}
    assert pair.state.listened_s == 5.0


# Consumers that don't come up.


def test_the_next_consumer_is_created_after_a_backoff(alone: Driver) -> None:
    alone.measures(a_0=70, a_1=70)
    alone.is_ready(1)
    alone.fails(2)
    alone.goes(2)
    alone.answers(1)
    assert alone.waits(29) == ()
    assert alone.waits(1) == (create(2),)
    assert alone.fails(2) == (delete(2),)
    assert alone.words[0] == "consumer 2: can't be started: no memory; deleting it, no consumer is created for 60 s"
    alone.goes(2)
    assert alone.waits(59) == ()
    assert alone.waits(1) == (create(2),)
    assert alone.is_ready(2) == (alone.stop(1, 3, A0),)
    alone.settles()
    assert alone.flags == {}
    assert alone.state.creation.failures == 0


def test_a_new_consumer_that_is_not_ready_in_time_is_deleted(alone: Driver) -> None:
    assert alone.measures(a_0=40) == (create(1),)
    assert alone.waits(179) == ()
    assert alone.waits(1) == (delete(1),)
    assert alone.words[0] == "consumer 1: not ready within 180 s; deleting it, no consumer is created for 30 s"
    assert alone.state.stage is Stage.SENTINEL
    assert alone.waits(29) == ()
    assert alone.waits(1) == (create(2),)


def test_consumers_that_are_created_and_fail_together_count_as_one_failure(alone: Driver) -> None:
    assert alone.measures(a_0=80, a_1=80, a_2=80) == (create(1), create(2), create(3))
    assert alone.waits(180) == (delete(1), delete(2), delete(3))
    deleted = [words.rpartition("; ")[2] for words in alone.words if "deleting" in words]
    assert deleted == ["deleting it, no consumer is created for 30 s"] * 3
    assert sum("failed starts" in words for words in alone.words) == 1
    assert alone.waits(29) == ()
    assert alone.waits(1) == (create(4), create(5), create(6))


def test_an_overload_that_can_not_be_relieved_does_not_cause_plans_again_and_again(pair: Driver) -> None:
    pair.measures(a_0=40, a_1=40, a_2=40, a_3=40, b_0=70)
    pair.fails(3)
    pair.settles()
    pair.changes("b", None)
    pair.settles()
    pair.measures(a_0=120, a_1=0, a_2=0, a_3=0)
    pair.settles()
    pair.waits(60)
    assert pair.flags["infeasible"].startswith("a-0 faster than any consumer")
    pair.waits(55)
    assert pair.causes.count(Cause.OVERLOAD) == 0


def test_a_consumer_that_was_not_restarted_and_still_reports_continues(pair: Driver) -> None:
    pair.fails(1)
    assert pair.phases == {1: "restarted", 2: "ready"}
    assert pair.waits(180) == ()
    assert pair.words[-1] == "consumer 1: not restarted and still reporting; it continues"
    assert pair.phases == {1: "ready", 2: "ready"}


def test_a_consumer_that_reports_and_obeys_nothing_is_restarted_again(pair: Driver) -> None:
    stopping(pair)
    assert pair.waits(90)[-1] == restart(1)
    assert pair.waits(180) == ()
    assert pair.phases == {1: "ready", 2: "ready", 3: "ready"}
    assert pair.waits(90) == (pair.stop(1, 1, A1), pair.stop(1, 1, A1), restart(1))


def test_while_a_partition_waits_for_a_lost_consumer_nothing_is_replanned() -> None:
    driver = pair_of(PLAIN)
    driver.waits(60, silent=(1,))
    assert driver.waits(180, silent=(1,))[-2:] == (delete(1), create(3))
    assert driver.is_ready(3) == ()
    driver.waits(120, silent=(1,))
    assert [noted for noted in driver.notes if noted.kind == "decision"] == []
