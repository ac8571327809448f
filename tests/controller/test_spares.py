"""Spare consumers take over after a crash, and serve a scale-up."""

from tests.support.controller_driver import A0, A1, A2, A3, create
from tests.support.crashes import claiming

from restow.controller.effects import Send
from restow.controller.transitions import Cause


def test_a_spare_is_kept_and_takes_over_after_a_crash() -> None:
    driver = claiming({1: (A0, A1)}, spares=1)
    driver.waits(60)
    assert driver.phases == {1: "ready", 2: "awaited"}
    driver.is_ready(2)
    assert driver.is_calm
    driver.ticks()
    sent = driver.crashes(1)
    assert sent == (driver.start(2, 1, a_0="recover", a_1="recover"),)
    driver.answers()
    assert driver.claims(1, A0, A1) == (driver.stop(1, 1, A0, A1),)
    driver.settles()
    assert driver.held == {1: (), 2: (A0, A1)}
    assert driver.waits(90) == ()


def test_a_scale_up_takes_the_spare_and_its_successor_starts_when_the_partitions_have_moved() -> None:
    driver = claiming({1: (A0, A1), 2: ()}, spares=1)
    assert driver.waits(61) == ()
    assert driver.measures(a_0=70, a_1=70) == (driver.stop(1, 1, A0),), "the move begins at once, and nothing else"
    driver.answers()
    assert driver.held == {1: (A1,), 2: (A0,)}
    assert driver.measures(a_0=70, a_1=70) == (create(3),), "not at the next periodic look"
    driver.is_ready(3)
    assert driver.waits(90) == ()
    assert driver.held == {1: (A1,), 2: (A0,), 3: ()}


def test_a_successor_starts_at_once_if_the_moves_wait_for_another_consumer() -> None:
    driver = claiming({1: (A0, A1, A2), 2: ()}, speed=20.0, spares=1)
    assert driver.waits(61) == ()
    assert driver.measures(a_0=70, a_1=70, a_2=70) == (create(3), create(4))


def test_a_spare_that_cannot_be_created_is_not_asked_for_with_every_measurement() -> None:
    driver = claiming({1: (A0,), 2: (A1,)}, speed=70.0, spares=1, most_consumers=2)
    assert driver.waits(30) == ()
    assert Cause.PERIODIC not in driver.causes


def test_a_plan_that_is_overtaken_still_uses_the_spare_that_is_ready() -> None:
    driver = claiming({1: (A0, A1, A2, A3), 2: ()}, speed=10.0, spares=1)
    assert driver.waits(61) == ()
    assert driver.measures(a_0=60, a_1=60, a_2=60, a_3=20) == (create(3), create(4))
    driver.measures(a_0=60, a_1=60, a_2=60, a_3=38)
    assert driver.causes == [Cause.OVERLOAD, Cause.CHANGE]
    assert driver.state.target is not None
    assert {1, 2} < set(driver.state.target.values()), "consumers 3 and 4 are starting"
    for consumer in (3, 4):
        driver.is_ready(consumer)
    driver.settles()
    assert len(driver.held[2]) > 0


def test_the_load_comes_before_spares_within_the_limit() -> None:
    driver = claiming({1: (A0,), 2: (A1,)}, speed=70.0, spares=2, most_consumers=3)
    driver.waits(61)
    assert sorted(driver.phases) == [1, 2, 3]


def test_a_consumer_that_is_being_closed_counts_towards_the_limit_of_spares() -> None:
    driver = claiming({1: (A0,), 2: (A1,), 3: ()}, speed=70.0, spares=1, most_consumers=3)
    driver.crashes(1)
    driver.answers()
    assert driver.held == {2: (A1,), 3: (A0,)}
    sent = driver.measures(a_0=10, a_1=10) + driver.waits(90, silent=(1,))
    assert any(isinstance(each, Send) for each in sent), "one of the two is emptied"
    assert create(4) not in sent
