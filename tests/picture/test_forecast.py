"""What `restow plan` shows is what the controller decides: the same plan from the picture as from its own state."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.support.controller_driver import A0, A1, A2, A3, SETTINGS, rules
from tests.support.picture_driver import PictureDriver, pair

from restow.controller.reassign import decide
from restow.controller.state import Pause
from restow.errors import RestowError
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.packing import PackingPlan
from restow.picture.forecast import caveats, forecast
from restow.picture.picture import Lag, Paused, Recommending
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.measurement import Measurement, PartitionSpeed

ONE, TWO, THREE = ConsumerId(1), ConsumerId(2), ConsumerId(3)


def measurement(driver: PictureDriver) -> Measurement:
    """The newest one, as the monitor published it."""
    measured = driver.state.measured
    assert measured is not None
    records = measured.records_per_s
    speeds = {
        partition: PartitionSpeed(0.0, speed, records.get(partition, 0.0), 0, None, False)
        for partition, speed in measured.speeds.items()
    }
    return Measurement(measured.time, 30.0, SortedMapping(speeds))


def planned(driver: PictureDriver, lags: Mapping[TopicPartition, Lag] | None = None) -> PackingPlan:
    """Also compares it with what the controller decides in the same state."""
    plan, own = forecast(driver.picture(lags), measurement(driver)), decide(driver.state)
    assert plan.problem == replace(own.problem, previous=None)
    return plan


def test_nothing_to_change_is_what_the_controller_finds_too() -> None:
    plan = planned(pair())
    assert not plan.problem.current.difference(plan.assignment)


def test_an_overloaded_consumer_is_relieved_as_the_controller_does_it() -> None:
    driver = pair()
    driver.ticks(5)
    before = driver.picture()  # older than the measurement, as it is up to ten seconds
    driver.measures(a_0=60, a_1=40, a_2=40, a_3=40)
    plan = forecast(before, measurement(driver))
    assert plan.assignment == driver.state.target
    assert plan.assignment[A1] == THREE


def test_a_backlog_counts_as_load() -> None:
    driver = pair()
    driver.measures({"a_0": 4, "a_1": 4, "a_2": 4, "a_3": 4}, a_0=40, a_1=40, a_2=40, a_3=40)
    driver.reports(1, lag_records=SortedMapping({A0: 300, A1: 0}), records_per_s=8.0, bytes_per_s=80.0)
    plan = planned(driver, {A0: Lag(300, 75.0), A1: Lag(0, 0.0)})
    assert plan.problem.speeds[A0] == 40 + 300 * 10 / 300  # ten bytes a record, within catch_up_s


def test_limits_and_a_pause_of_creation_bind_it() -> None:
    driver = PictureDriver(rules(most_consumers=2, worth=0.5, least_consumers=1))
    driver.takes_over({1: (A0, A1), 2: (A2, A3)})
    driver.measures(a_0=60, a_1=50, a_2=60, a_3=50)
    plan = planned(driver)
    assert (plan.problem.worth, plan.problem.least_consumers, plan.overloaded) == (0.5, 1, (ONE, TWO))
    paused = pair()
    paused.state = replace(paused.state, creation=Pause(1, paused.now_s + 30))
    assert paused.picture().overview.creation_paused_s == 30
    assert planned(paused).problem.most_consumers == 2


def test_partitions_that_wait_for_a_restarting_consumer_are_left_out() -> None:
    driver = PictureDriver()
    driver.takes_over({1: (A0, A1), 2: (A2, A3)}, SETTINGS.fingerprint)
    for number in (1, 2):
        driver.reports(number)
    driver.measures(a_0=40, a_1=40, a_2=40, a_3=40)
    driver.changes_consumers(ConsumerSettings(memory_mb=2048))
    driver.measures(a_0=40, a_1=40, a_2=40, a_3=40)
    assert driver.phases == {1: "rolling", 2: "ready"}
    driver.hears(driver.stopped(1, None, driver.fakes[1].held))
    picture = driver.picture()
    assert {partition: status.waits_for for partition, status in picture.partitions.items()} == {
        A0: ONE,
        A1: ONE,
        A2: None,
        A3: None,
    }
    assert set(planned(driver).problem.speeds) == {A2, A3}
    [words] = caveats(picture, is_stale=False)
    assert words == "Consumer 1 restarts; 2 partitions that wait for it are left out."


def test_without_a_fresh_measurement_nothing_is_scaled() -> None:
    driver = pair()
    driver.measures(a_0=1, a_1=1, a_2=1, a_3=1)
    plan = forecast(driver.picture(), None)
    assert plan.assignment.consumers == (ONE, TWO)
    assert "Does `restow monitor` run?" in next(caveats(driver.picture(), is_stale=True))
    assert len(forecast(driver.picture(), measurement(driver)).assignment.consumers) == 1


def test_a_pause_and_recommend_only_are_said_and_the_plan_is_that_without_them() -> None:
    driver = pair()
    driver.ticks(5)
    overview = replace(
        driver.picture().overview, paused=Paused(until="2026-03-01T14:00:00Z"), recommend_only=Recommending()
    )
    paused = replace(driver.picture(), overview=overview)
    driver.measures(a_0=60, a_1=40, a_2=40, a_3=40)
    assert forecast(paused, measurement(driver)).assignment[A1] == THREE
    first, second = caveats(paused, is_stale=False)
    assert first.startswith("The group is paused until 2026-03-01T14:00:00Z; until then only partitions without")
    assert second.startswith("The controller only recommends")


def test_a_group_without_partitions_has_nothing_to_plan() -> None:
    driver = PictureDriver()
    driver.takes_over({})
    with pytest.raises(RestowError, match="nothing to plan: group shop has no partitions to read yet"):
        forecast(driver.picture(), None)


def test_the_price_of_a_move_and_spares_are_those_of_the_group() -> None:
    driver = PictureDriver(rules(moves_by_number=0.0, spares=1))
    driver.takes_over({1: (A0, A1), 2: (A2, A3), 3: ()})
    driver.measures(a_0=40, a_1=40, a_2=40, a_3=40)
    plan = planned(driver)
    assert plan.problem.moves_by_number == 0.0
    assert THREE in plan.assignment.consumers, "the spare stays"
