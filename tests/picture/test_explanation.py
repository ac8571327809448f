"""Explanations: why a partition or consumer is as it is, with figures that the picture has."""

import pytest
from tests.support.controller_driver import A0, A1, B0, rules
from tests.support.picture_driver import PictureDriver, pair

from restow.errors import InvalidInput
from restow.model import ConsumerId, Retention
from restow.picture.explanation import explain_consumer, explain_decision, explain_partition
from restow.picture.picture import Lag
from restow.protocol.messages.desired import ConsumerRestart, PartitionPin


@pytest.fixture
def moved() -> PictureDriver:
    """At 12:00:05 a-1 was given to consumer 3, which has it since 12:00:09."""
    driver = pair()
    driver.ticks(5)
    driver.measures(a_0=60, a_1=40, a_2=40, a_3=40)
    driver.ticks(2)
    driver.is_ready(3)
    driver.ticks(2)
    driver.settles()
    return driver


def of_partition(driver: PictureDriver, lag: Lag | None = None) -> list[str]:
    picture = driver.picture({} if lag is None else {A1: lag})
    return list(explain_partition(picture, picture.overview.decisions, A1))


def of_consumer(driver: PictureDriver, number: int) -> list[str]:
    picture = driver.picture()
    return list(explain_consumer(picture, picture.overview.decisions, ConsumerId(number)))


def test_a_partition_that_moved(moved: PictureDriver) -> None:
    lines = of_partition(moved, Lag(12, 3.5))
    assert lines[:3] == [
        "a-1 is read by consumer 3, since 2026-03-01 12:00:09 UTC",
        "  it is written at 40 B/s, 40 % of a consumer's capacity",
        "  lag: 12 records, 3.5 s behind",
    ]
    assert lines[3:5] == [
        "what was decided about it, newest first:",
        "  2026-03-01 12:00:05 UTC, because a consumer's load is above the trigger",
    ]
    assert lines[5].startswith("    a-1 goes from consumer 1 to 3: consumer 1 was at 100 % of its capacity")
    assert lines[-3:] == [
        "what would move it next:",
        (
            "  consumer 3 is at 40 % of its capacity; above 95 % it gives up partitions, the lightest that suffices "
            "first, until it is at 85 %"
        ),
        "  it is closed if the others can take its 40 % and stay at or below 75 %; they have room for 15 % now",
    ]


def test_a_partition_that_is_far_behind(moved: PictureDriver) -> None:
    assert of_partition(moved, Lag(0, 0.0))[2] == "  it is caught up"
    picture = moved.picture({A1: Lag(7000, 7200.0, "record timestamp")}, {"a": Retention(86400.0)})
    assert list(explain_partition(picture, (), A1))[2:5] == [
        "  lag: 7,000 records, 2 h 0 min behind by the record's timestamp",
        "  at the present throughput its lag does not shrink",
        "  Kafka keeps its oldest unread record for at least 22 h 0 min more",
    ]


def test_a_partition_that_never_moved() -> None:
    driver = pair()
    lines = list(explain_partition(driver.picture(), (), A0))
    assert lines[0] == "a-0 is read by consumer 1, since before this controller began"
    assert "no decision is known" in lines


def test_a_partition_on_its_way() -> None:
    driver = pair()
    driver.measures(a_0=60, a_1=40, a_2=40, a_3=40)
    assert "  the present plan gives it to consumer 3" in of_partition(driver)


def test_a_partition_without_a_consumer(moved: PictureDriver) -> None:
    moved.ticks(11)
    moved.goes(3)
    assert of_partition(moved)[0] == "a-1 has no consumer, since 2026-03-01 12:00:20 UTC"


def test_a_consumer(moved: PictureDriver) -> None:
    lines = of_consumer(moved, 3)
    assert lines[:3] == [
        "consumer 3 is ready since 2026-03-01 12:00:07 UTC",
        "  it holds 1 partition",
        "  its load is 40 B/s, 40 % of its capacity",
    ]
    assert "    consumer 3 is opened for a-1, 40 % of its capacity" in lines


def test_a_consumer_that_is_waited_for() -> None:
    driver = pair()
    driver.measures(a_0=60, a_1=40, a_2=40, a_3=40)
    driver.ticks(4)
    assert "  the controller waits for consumer 3 to become ready (for 4 s, at most 180 s)" in of_consumer(driver, 3)


def test_the_last_consumer_is_not_closed() -> None:
    driver = PictureDriver()
    driver.takes_over({1: (A0,)})
    driver.measures(a_0=40)
    assert of_consumer(driver, 1)[-1] == "  it is not closed: there is no other consumer for its partitions"


def test_least_consumers_are_not_closed() -> None:
    driver = PictureDriver(rules(least_consumers=2))
    driver.takes_over({1: (A0,), 2: (A1,)})
    driver.measures(a_0=40, a_1=10)
    assert of_consumer(driver, 2)[-1] == "  it is not closed: the group keeps at least 2 consumers"


def test_a_decision_has_all_its_reasons(moved: PictureDriver) -> None:
    [decision] = moved.picture().overview.decisions
    lines = list(explain_decision(decision))
    assert lines[0] == "2026-03-01 12:00:05 UTC: 2 -> 3 consumers, 1 move of 0.4 capacities"
    assert lines[1] == "  because a consumer's load is above the trigger"
    assert len(lines) == 4


def test_what_the_group_does_not_have_is_an_error_that_says_what_it_has() -> None:
    picture = pair().picture()
    with pytest.raises(InvalidInput, match="the group does not consume b-0; it consumes partitions of a"):
        list(explain_partition(picture, (), B0))
    with pytest.raises(InvalidInput, match="there is no consumer 9; the group has 1, 2"):
        list(explain_consumer(picture, (), ConsumerId(9)))


def test_a_pin_is_shown_and_keeps_partition_and_consumer(moved: PictureDriver) -> None:
    until, by = "2026-03-01T13:00:00Z", "anna@host-a"
    moved.desires(PartitionPin(A1, ConsumerId(3), until, by, "2026-03-01T12:00:00Z", "its producer is loud"))
    words = "pinned until 2026-03-01 13:00:00 UTC, by anna@host-a: its producer is loud"
    lines = of_partition(moved)
    assert lines[1] == f"  it is {words}; no plan moves it from consumer 3 before"
    assert lines[-2:] == [
        "what would move it next:",
        "  nothing for load before its pin ends; recovery, if consumer 3 is lost",
    ]
    assert of_consumer(moved, 3)[-1] == f"  it is not closed: a-1 is {words}"


def test_a_restart_that_waits_is_waited_for() -> None:
    driver = pair()
    driver.fails(1)
    driver.desires(ConsumerRestart(ConsumerId(2), driver.fakes[2].incarnation, "anna@host-a"))
    assert driver.picture().overview.waiting_for == (
        "the moment to restart consumer 2 on request, by anna@host-a; before it: every consumer is healthy",
        "consumer 1 to be ready again after its restart (for 0 s)",
    )


def test_a_pin_that_waits_for_speeds_is_waited_for() -> None:
    driver = pair()
    driver.waits(31, measured=False)
    driver.desires(PartitionPin(A1, ConsumerId(2), "2026-03-01T13:00:00Z"))
    assert "speeds, to judge whether a-1 can move to consumer 2" in driver.picture().overview.waiting_for
    assert not driver.picture().overview.pins, "it is not taken yet"
