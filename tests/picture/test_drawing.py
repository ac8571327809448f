"""The picture has what the controller knows, and since when."""

from tests.support.controller_driver import A0, A1, A2, A3
from tests.support.picture_driver import PictureDriver, pair

from restow.controller.transitions import Phase, Stage
from restow.model import ConsumerId, SortedMapping
from restow.picture.picture import Lag

ONE, TWO, THREE = ConsumerId(1), ConsumerId(2), ConsumerId(3)


def moving() -> PictureDriver:
    """At 12:00:05 a-1 leaves consumer 1 for consumer 3, which becomes ready at 12:00:07."""
    driver = pair()
    driver.ticks(5)
    driver.measures(a_0=60, a_1=40, a_2=40, a_3=40)
    driver.ticks(2)
    driver.is_ready(3)
    return driver


def test_a_quiet_group() -> None:
    picture = pair().picture()
    overview = picture.overview
    assert (overview.group, overview.controller, overview.epoch) == ("shop", "host-7", 7)
    assert (overview.stage, overview.since, overview.time) == (
        Stage.SENTINEL,
        "2026-03-01T12:00:00.000Z",
        "2026-03-01T12:00:00.000Z",
    )
    assert overview.limits.capacity_bytes_per_s == 100
    assert overview.waiting_for == ()
    assert overview.decisions == ()
    assert {
        number: (status.phase, status.load_bytes_per_s, status.partitions)
        for number, status in picture.consumers.items()
    } == {
        ONE: (Phase.READY, 80.0, 2),
        TWO: (Phase.READY, 80.0, 2),
    }
    assert {partition: status.consumer for partition, status in picture.partitions.items()} == {
        A0: ONE,
        A1: ONE,
        A2: TWO,
        A3: TWO,
    }


def test_a_partition_is_shown_where_it_is_going_and_where_it_went_since_when() -> None:
    driver = moving()
    before = driver.picture().partitions[A1]
    assert (before.consumer, before.moving_to) == (ONE, THREE)
    driver.ticks(1)
    driver.answers(1)
    between = driver.picture().partitions[A1]
    assert (between.consumer, between.moving_to, between.since) == (None, THREE, "2026-03-01T12:00:08.000Z")
    driver.ticks(1)
    driver.answers(3)
    after = driver.picture().partitions[A1]
    assert (after.consumer, after.moving_to, after.since) == (THREE, None, "2026-03-01T12:00:09.000Z")


def test_a_decision_has_its_time_cause_and_reasons() -> None:
    [decision] = moving().picture().overview.decisions
    assert decision.time == "2026-03-01T12:00:05.000Z"
    assert decision.cause == "a consumer's load is above the trigger"
    assert decision.summary.startswith("2 -> 3 consumers, 1 move")
    assert any(reason.startswith("a-1") for reason in decision.reasons)
    assert decision.more_reasons == 0


def test_what_it_waits_for_is_in_words() -> None:
    driver = pair()
    driver.measures(a_0=60, a_1=40, a_2=40, a_3=40)
    driver.ticks(4)
    assert driver.picture().overview.waiting_for == ("consumer 3 to become ready (for 4 s, at most 180 s)",)
    driver.is_ready(3)
    driver.ticks(2)
    assert driver.picture().overview.waiting_for == ("consumer 1 to stop a-1 (for 2 s)",)


def test_without_speeds_it_waits_for_the_monitor() -> None:
    driver = PictureDriver().takes_over({1: (A0,)})
    assert isinstance(driver, PictureDriver)
    assert driver.picture().overview.waiting_for == ("the first speeds from the monitor",)
    assert driver.picture().overview.speeds_age_s is None


def test_a_flag_keeps_the_time_at_which_it_was_raised() -> None:
    driver = pair()
    driver.waits(40, measured=False)
    driver.ticks(10)
    flag = driver.picture().overview.flags["stale speeds"]
    assert flag.since == "2026-03-01T12:00:31.000Z"
    assert flag.words.startswith("no speeds for more than 30 s")
    driver.measures()
    assert not driver.picture().overview.flags


def test_a_new_process_counts_as_a_restart() -> None:
    driver = pair()
    driver.is_ready(2, A2, A3, clean=False)
    driver.is_ready(2, A2, A3, clean=False)
    assert driver.picture().consumers[TWO].restarts == 2
    assert driver.picture().consumers[ONE].restarts == 0


def test_a_consumers_lag_is_the_sum_of_records_and_the_worst_of_seconds() -> None:
    lags = {A0: Lag(10, 4.0), A1: Lag(5, 9.5), A2: Lag(3, None)}
    picture = pair().picture(lags)
    assert picture.consumers[ONE].lag == Lag(15, 9.5)
    assert picture.consumers[TWO].lag == Lag(3, None)
    assert picture.partitions[A0].lag == Lag(10, 4.0)
    assert picture.partitions[A3].lag is None


def test_the_time_to_catch_up_follows_from_the_consumers_room() -> None:
    driver = pair()
    driver.reports(
        1, lag_records=SortedMapping({A0: 300, A1: 100}), records_per_s=10.0, bytes_per_s=100.0
    )  # 10 bytes a record, 80 written
    picture = driver.picture({A0: Lag(300, 30.0), A1: Lag(0, 0.0)})
    assert picture.partitions[A0].catch_up_s == 200.0
    assert picture.partitions[A1].catch_up_s is None, "it has no lag"
    driver.reports(1, lag_records=SortedMapping({A0: 300, A1: 100}), records_per_s=8.0, bytes_per_s=80.0)
    assert driver.picture({A0: Lag(300, 30.0)}).partitions[A0].catch_up_s is None, "the lag does not shrink"


def test_a_gone_consumer_leaves_its_partitions_without_a_reader() -> None:
    driver = pair()
    driver.ticks(3)
    driver.goes(2)
    picture = driver.picture()
    assert (picture.partitions[A2].consumer, picture.partitions[A2].since) == (None, "2026-03-01T12:00:03.000Z")
    assert (picture.consumers[TWO].phase, picture.consumers[TWO].restarts) == (Phase.AWAITED, 0), "its successor"
