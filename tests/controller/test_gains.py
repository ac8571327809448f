"""A scale-up that did not raise the throughput is flagged, and not repeated until something changes."""

from dataclasses import replace

import pytest
from tests.support.controller_driver import A0, A1, A2, A3, Driver, create, named, rules

from restow.controller.gains import NO_GAIN, may_fall
from restow.model import ConsumerId
from restow.protocol.consumer_settings import ConsumerSettings

RATES = {"a_0": 1.0, "a_1": 1.0, "a_2": 1.0, "a_3": 1.0}
LOAD = {"a_0": 45.0, "a_1": 45.0, "a_2": 45.0, "a_3": 45.0}


def works(driver: Driver, seconds: float, total: float, lag: int = 20_000) -> None:
    """All consumers work without a pause and store this much together, each the same."""
    for _ in range(round(seconds / 5)):
        driver.ticks(5)
        for consumer, fake in sorted(driver.fakes.items()):
            driver.reports(
                consumer,
                lag_records=named({str(partition).replace("-", "_"): lag for partition in fake.held}),
                next_offsets=named({str(partition).replace("-", "_"): 7 for partition in fake.held}),
                records_per_s=1.0,
                bytes_per_s=total / len(driver.fakes),
                saturated=True,
            )
        driver.measures(RATES)


@pytest.fixture
def scaling() -> Driver:
    """A consumer that stores 90 has 180 to read, and a second one is ready."""
    driver = Driver().takes_over({1: (A0, A1, A2, A3)})
    driver.reports(1, records_per_s=1.0, bytes_per_s=90.0, saturated=True)
    requests = driver.measures(RATES, **LOAD)
    assert requests[0] == create(2)
    for request in requests:
        driver.is_ready(request.consumer)  # type: ignore[union-attr]
    driver.settles()
    return driver


def test_a_scale_up_without_gain_is_said_and_not_repeated(scaling: Driver) -> None:
    before = set(scaling.fakes)
    assert not may_fall(scaling.state)
    works(scaling, 50, total=95.0)
    assert NO_GAIN not in scaling.flags
    works(scaling, 20, total=95.0)
    assert scaling.flags[NO_GAIN].startswith(
        f"1 -> {len(before)} consumers raised the throughput from 90 B/s to 95 B/s, and "
    )
    works(scaling, 300, total=95.0)
    assert set(scaling.state.consumers) == before
    assert not may_fall(scaling.state)


def test_a_scale_up_that_helped_is_not_flagged_and_capacities_may_fall_again(scaling: Driver) -> None:
    works(scaling, 70, total=90.0 * len(scaling.fakes))
    assert NO_GAIN not in scaling.flags
    assert may_fall(scaling.state)


def test_a_group_that_is_not_behind_any_more_has_gained(scaling: Driver) -> None:
    works(scaling, 70, total=180.0, lag=0)
    assert NO_GAIN not in scaling.flags


def test_a_throughput_that_no_consumer_limits_says_nothing(scaling: Driver) -> None:
    scaling.waits(100)
    assert NO_GAIN not in scaling.flags
    assert may_fall(scaling.state)


def test_another_load_ends_the_hold_and_capacities_still_do_not_fall(scaling: Driver) -> None:
    works(scaling, 70, total=95.0)
    scaling.measures(RATES, **{name: 1.3 * speed for name, speed in LOAD.items()})
    scaling.ticks()
    assert NO_GAIN not in scaling.flags
    assert not may_fall(scaling.state)


def test_other_settings_end_the_hold(scaling: Driver) -> None:
    works(scaling, 70, total=95.0)
    scaling.changes_consumers(ConsumerSettings(cores=2.0))
    scaling.ticks()
    assert NO_GAIN not in scaling.flags
    assert may_fall(scaling.state)


def test_a_throughput_that_rises_later_ends_the_hold(scaling: Driver) -> None:
    works(scaling, 70, total=95.0)
    works(scaling, 10, total=300.0)
    assert NO_GAIN not in scaling.flags
    assert may_fall(scaling.state)


def test_fewer_consumers_end_the_hold(scaling: Driver) -> None:
    works(scaling, 70, total=95.0)
    views = scaling.state.consumers
    scaling.state = replace(scaling.state, consumers={n: view for n, view in views.items() if n != ConsumerId(2)})
    scaling.ticks()
    assert NO_GAIN not in scaling.flags
    assert may_fall(scaling.state)


def test_a_first_consumer_is_no_scale_up() -> None:
    driver = Driver(rules()).takes_over()
    driver.measures(RATES, **LOAD)
    assert driver.state.scale_up is None
