"""What the platform reports: a consumer is up, failing or gone, or a request was refused."""

from tests.support.controller_driver import A0, A1, TO_A, Driver, create, delete, pair_of, restart, stopping

from restow.controller.transitions import Cause

# Its process is up.


def test_a_consumer_that_the_platform_restarted_may_be_silent_for_as_long_as_a_start_takes(pair: Driver) -> None:
    pair.waits(30, silent=[1])
    assert pair.is_up(1) == ()
    assert pair.waits(179, silent=[1]) == ()
    assert pair.phases == {1: "ready", 2: "ready"}
    assert pair.is_ready(1, A0, A1, clean=False) == ()
    assert pair.waits(59, silent=[1]) == ()
    assert pair.waits(1, silent=[1]) == (restart(1),)


def test_a_consumer_that_crashes_repeatedly_before_its_first_message_is_restarted(pair: Driver) -> None:
    pair.waits(1, silent=[1])
    for _ in range(8):
        assert pair.is_up(1) == ()
        assert pair.waits(20, silent=[1]) == ()
    assert pair.is_up(1) == ()
    assert pair.waits(20, silent=[1]) == (restart(1),)


def test_a_command_is_not_repeated_to_a_consumer_that_the_platform_restarted(pair: Driver) -> None:
    stopping(pair).waits(29)
    pair.is_up(1)
    assert pair.waits(179, silent=[1]) == ()
    assert pair.is_ready(1, A0, A1, clean=False) == (pair.stop(1, 2, A1),)


def test_a_late_report_of_a_new_process_gives_it_no_more_time(pair: Driver) -> None:
    pair.is_up(1)
    pair.waits(5)
    assert pair.waits(60, silent=[1]) == (restart(1),)


# It is failing.


def test_a_consumer_that_can_not_be_started_is_deleted_and_ready_ones_continue(alone: Driver) -> None:
    assert alone.measures(a_0=70, a_1=70) == (create(1), create(2))
    alone.is_ready(1)
    assert alone.fails(2) == (delete(2), alone.start(1, 2, a_1="recover"))
    assert alone.causes == [Cause.NOT_READY, Cause.CHANGE]
    assert alone.words[0] == "consumer 2: can't be started: no memory; deleting it, no consumer is created for 30 s"
    alone.answers(1)
    assert alone.flags == {
        "failed starts": "a consumer can't be started: no memory",
        "too few consumers": "consumers 1 are overloaded, and no more can be created now",
    }


def test_a_failing_consumer_is_waited_for(pair: Driver) -> None:
    assert pair.fails(1) == ()
    assert pair.words == ["consumer 1: failing: no memory; waiting for its restart"]
    assert pair.phases == {1: "restarted", 2: "ready"}
    assert pair.is_up(1) == ()
    assert pair.is_ready(1, A0, A1, clean=False) == ()
    assert pair.phases == {1: "ready", 2: "ready"}


def test_a_failing_consumer_that_does_not_come_back_is_given_up(pair: Driver) -> None:
    pair.fails(1)
    assert pair.waits(180, silent=[1]) == (delete(1), create(3))


# It is unknown.


def test_reports_of_unknown_consumers_are_ignored(pair: Driver) -> None:
    before = pair.state
    assert pair.fails(9) == ()
    assert pair.goes(9) == ()
    assert pair.platform_refuses("delete", 9) == ()
    assert pair.state == before


# A request was refused.


def test_a_refused_creation_is_retried(alone: Driver) -> None:
    alone.measures(a_0=40)
    alone.platform_refuses("create", 1)
    assert alone.words == ["consumer 1: the platform refused to create it: too busy; retrying in 5 s"]
    assert alone.waits(4) == ()
    assert alone.waits(1) == (create(1),)
    alone.platform_refuses("create", 1)
    assert alone.waits(5) == (create(1),)
    assert alone.waits(30) == ()


def test_a_refused_deletion_is_retried(pair: Driver) -> None:
    pair.waits(240, silent=[1])
    pair.platform_refuses("delete", 1)
    assert pair.waits(5) == (delete(1),)


def test_a_refused_restart_is_retried(pair: Driver) -> None:
    pair.waits(60, silent=[1])
    pair.platform_refuses("restart", 1)
    assert pair.waits(5, silent=[1]) == (restart(1),)


def test_a_refused_creation_is_not_repeated_when_the_consumer_is_ready(alone: Driver) -> None:
    alone.measures(a_0=40)
    alone.platform_refuses("create", 1)
    alone.is_ready(1)
    alone.answers(1)
    assert alone.waits(10) == ()


def test_a_consumer_given_up_while_its_restart_is_refused_is_deleted_once() -> None:
    driver = pair_of(TO_A)
    driver.waits(60, silent=[1])
    for _ in range(35):
        driver.platform_refuses("restart", 1)
        assert driver.waits(5, silent=[1]) == (restart(1),)
    driver.platform_refuses("restart", 1)
    assert driver.waits(5, silent=[1]) == (delete(1), create(3))
