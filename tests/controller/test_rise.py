"""A rising load opens consumers while others start, and one ahead by the time that a start takes."""

from typing import Any

from tests.support.controller_driver import A0, A1, A2, A3, Driver, create, delete, rules

from restow.controller import rise
from restow.controller.effects import ListConsumers, Send
from restow.controller.transitions import Cause, Stage

COOLED: dict[str, Any] = {"cool_down_after_opening_s": 100.0, "look_every_s": 10.0}


def rising(driver: Driver, seconds: int, first: float, by_s: float, *names: str) -> list[Any]:
    """Each of these partitions becomes faster by `by_s` bytes/s each second, measured every five."""
    requests: list[Any] = []
    for passed in range(0, seconds, 5):
        requests += driver.ticks(5.0)
        speeds: dict[str, Any] = dict.fromkeys(names, first + by_s * (passed + 5))
        requests += driver.measures(**speeds)
        for consumer in sorted(driver.fakes):
            requests += driver.reports(consumer)
    return [request for request in requests if not isinstance(request, ListConsumers)]


def started_in(seconds: int, **controller: Any) -> Driver:
    """One consumer with a-0 to a-3, whose start took so long."""
    driver = Driver(rules(**{**COOLED, **controller})).takes_over()
    assert driver.measures(a_0=10, a_1=10, a_2=10, a_3=10) == (create(1),)
    driver.waits(seconds)
    driver.is_ready(1)
    driver.settles()
    return driver


# While new consumers start.


def test_a_load_that_rises_on_opens_further_consumers_before_the_first_is_ready() -> None:
    driver = Driver().takes_over({1: (A0, A1, A2, A3)})
    assert driver.measures(a_0=30, a_1=30, a_2=30, a_3=30) == (create(2),)
    driver.ticks(5.0)
    assert driver.measures(a_0=60, a_1=60, a_2=60, a_3=60) == (create(3), create(4))
    assert driver.causes == [Cause.OVERLOAD, Cause.CHANGE]
    assert driver.phases == {1: "ready", 2: "awaited", 3: "awaited", 4: "awaited"}
    for consumer in (2, 3, 4):
        driver.is_ready(consumer)
    driver.settles()
    assert sorted(map(len, driver.held.values())) == [1, 1, 1, 1]


def test_a_load_that_stays_makes_no_other_plan_while_consumers_start() -> None:
    driver = Driver().takes_over({1: (A0, A1, A2, A3)})
    driver.measures(a_0=30, a_1=30, a_2=30, a_3=30)
    assert driver.waits(60) == ()
    assert driver.moved == ()
    assert driver.state.stage is Stage.MANAGE


def test_nothing_is_planned_again_when_every_new_consumer_is_ready() -> None:
    driver = Driver().takes_over({1: (A0, A1, A2, A3)})
    driver.measures(a_0=30, a_1=30, a_2=30, a_3=30)
    driver.is_ready(2)
    assert driver.state.stage is Stage.MANAGE
    assert driver.measures(a_0=60, a_1=60, a_2=60, a_3=60) == ()
    driver.settles()
    assert driver.measures() == (create(3), create(4))


def test_a_paused_group_is_not_planned_again_while_a_consumer_starts() -> None:
    driver = Driver(rules(most_consumers=2)).takes_over({1: (A0, A1, A2, A3)})
    driver.measures(a_0=30, a_1=30, a_2=30, a_3=30)
    driver.ticks(5.0)
    driver.measures(a_0=60, a_1=60, a_2=60, a_3=60)
    assert driver.phases == {1: "ready", 2: "awaited"}
    driver.ticks(5.0)
    assert driver.measures() == ()
    assert driver.moved == ()


# Predicted.


def test_the_time_of_a_start_is_measured() -> None:
    driver = started_in(30)
    assert driver.state.start_times_s == (30.0,)
    assert rise.start_s(driver.state) == 30.0


def test_a_consumer_is_opened_ahead_of_a_rising_load_and_moves_nothing_yet() -> None:
    driver = started_in(30)
    requests = rising(driver, 60, 10.0, 0.2, "a_0", "a_1", "a_2", "a_3")
    assert requests == [create(2)]
    load = driver.state.totals[-1].bytes_per_s
    assert load < 95
    driver.is_ready(2)
    assert driver.settles() == ()
    assert driver.held == {1: (A0, A1, A2, A3), 2: ()}


def test_it_says_why_a_consumer_is_opened_ahead() -> None:
    driver = started_in(30)
    speed = 10.0
    while Cause.RISE not in driver.causes:
        driver.ticks(5.0)
        speed += 1.0
        driver.measures(a_0=speed, a_1=speed, a_2=speed, a_3=speed)
        assert speed < 95 / 4
    assert driver.causes == [Cause.RISE, Cause.CHANGE]
    assert driver.words[1] == (
        "consumer 2: consumer 2 is opened ahead: the load rises by 1 B/s each second, and a start takes 30 s"
    )


def test_the_consumer_that_is_ready_takes_over_as_soon_as_the_overload_comes() -> None:
    driver = started_in(30)
    rising(driver, 60, 10.0, 0.2, "a_0", "a_1", "a_2", "a_3")
    driver.is_ready(2)
    driver.settles()
    [stop] = driver.measures(a_0=26, a_1=26, a_2=26, a_3=26)
    assert isinstance(stop, Send)
    assert stop.consumer == 1
    assert driver.phases == {1: "ready", 2: "ready"}


def test_a_wrong_prediction_costs_one_consumer_for_one_cool_down() -> None:
    driver = started_in(30)
    rising(driver, 60, 10.0, 0.2, "a_0", "a_1", "a_2", "a_3")
    opened_s = driver.state.opened_s
    assert opened_s is not None
    driver.is_ready(2)
    driver.settles()
    driver.measures(a_0=10, a_1=10, a_2=10, a_3=10)
    requests = driver.waits(120)
    assert requests == (delete(2),)
    assert 100 <= driver.now_s - opened_s <= 190


def test_only_one_consumer_is_opened_ahead() -> None:
    driver = started_in(30)
    rising(driver, 60, 10.0, 0.2, "a_0", "a_1", "a_2", "a_3")
    driver.is_ready(2)
    driver.settles()
    assert rising(driver, 10, 22.0, 0.1, "a_0", "a_1", "a_2", "a_3") == []
    assert driver.phases == {1: "ready", 2: "ready"}


def test_no_consumer_is_opened_ahead_of_a_load_that_is_steady_or_falls() -> None:
    driver = started_in(30)
    driver.measures(a_0=23, a_1=23, a_2=23, a_3=23)
    assert driver.waits(90) == ()
    assert rising(driver, 60, 23.0, -0.1, "a_0", "a_1", "a_2", "a_3") == []


def test_nothing_is_predicted_before_a_start_was_measured() -> None:
    driver = Driver(rules(**COOLED)).takes_over({1: (A0, A1, A2, A3)})
    driver.measures(a_0=10, a_1=10, a_2=10, a_3=10)
    assert rising(driver, 60, 10.0, 0.2, "a_0", "a_1", "a_2", "a_3") == []


def test_nothing_is_predicted_if_the_setting_says_so() -> None:
    driver = started_in(30, predict_at_most=0.0)
    assert rising(driver, 60, 10.0, 0.2, "a_0", "a_1", "a_2", "a_3") == []
    assert driver.state.totals == ()


def test_a_prediction_is_bounded() -> None:
    driver = started_in(150, predict_at_most=0.1)
    rising(driver, 60, 10.0, 0.1, "a_0", "a_1", "a_2", "a_3")
    assert rise.predicted_factor(driver.state) == 1.1


def test_no_consumer_is_opened_ahead_beyond_the_upper_limit() -> None:
    driver = started_in(30, most_consumers=1)
    assert rising(driver, 60, 10.0, 0.2, "a_0", "a_1", "a_2", "a_3") == []
