"""A partition whose backlog does not shrink although its consumer has room is flagged, and scales nothing."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support.controller_driver import A0, A1, A2, A3, Driver, create, named

from restow.controller.load import backlogs, loads
from restow.controller.stuck import STUCK
from restow.model import ConsumerId
from restow.protocol.messages.reports import Failure

ONE = ConsumerId(1)
RATES = {"a_0": 1.0, "a_1": 1.0, "a_2": 1.0, "a_3": 1.0}


@pytest.fixture
def calm() -> Driver:
    """Consumer 1 has a-0 and a-1, consumer 2 has a-2 and a-3, each partition at a fifth of a consumer."""
    driver = Driver().takes_over({1: (A0, A1), 2: (A2, A3)})
    driver.measures(RATES, a_0=40, a_1=40, a_2=40, a_3=40)
    return driver


def lags(driver: Driver, seconds: float, lag: Any, offset: Any, **report: Any) -> None:
    """Consumer 1 reports every ten seconds how far a-0 is behind and where it is; both may grow with the time."""
    for second in range(0, round(seconds), 10):
        driver.waits(10, silent=[1])
        driver.measures(RATES)
        driver.reports(
            1,
            lag_records=named({"a_0": lag(second), "a_1": 0}),
            next_offsets=named({"a_0": offset(second), "a_1": 5000}),
            records_per_s=1.0,
            bytes_per_s=40.0,
            **report,
        )
        driver.measures(RATES)
        driver.settles()


def test_a_backlog_that_grows_beside_room_is_flagged_with_the_last_error_and_is_no_load(calm: Driver) -> None:
    failures = (Failure("a", "shop:orders failed on a-0 at offset 77"),)
    lags(calm, 100, lambda s: 100 + s, lambda _: 77)
    assert STUCK not in calm.flags
    assert backlogs(calm.state).keys() == {A0}
    lags(calm, 40, lambda s: 200 + s, lambda _: 77, failures=failures)
    assert calm.flags[STUCK] == (
        "a-0: the backlog has not shrunk for 120 s although consumer 1 has room; a-0 is 100 records behind; its last "
        "error: shop:orders failed on a-0 at offset 77; this backlog opens no consumers"
    )
    assert backlogs(calm.state) == {}
    assert loads(calm.state)[ONE] == 80.0


def test_a_suspect_that_is_read_with_care_is_no_load_and_has_its_own_flag_only(calm: Driver) -> None:
    calm.state = replace(calm.state, suspects=frozenset({A0}))
    lags(calm, 150, lambda _: 100, lambda _: 77)
    assert STUCK not in calm.flags
    assert backlogs(calm.state) == {}


def test_it_is_cleared_when_the_backlog_shrinks(calm: Driver) -> None:
    lags(calm, 150, lambda _: 100, lambda _: 77)
    assert "it reports no error" in calm.flags[STUCK]
    lags(calm, 20, lambda _: 90, lambda _: 87)
    assert STUCK not in calm.flags
    assert backlogs(calm.state).keys() == {A0}


@pytest.mark.parametrize(
    ("lag", "offset", "saturated"),
    [
        (lambda s: 5000 - s, lambda s: 77 + 2 * s, False),
        (lambda _: 100, lambda s: 77 + 10 * s, False),
        (lambda _: 20, lambda _: 77, False),
        (lambda s: 100 + s, lambda s: 77 + s, True),
    ],
    ids=["it shrinks", "as much is stored as arrives", "it is a few seconds of records", "the consumer has no room"],
)
def test_other_backlogs_are_not_stuck(calm: Driver, lag: Any, offset: Any, saturated: bool) -> None:
    lags(calm, 300, lag, offset, saturated=saturated)
    assert STUCK not in calm.flags


def test_a_restarted_consumer_begins_anew(calm: Driver) -> None:
    lags(calm, 150, lambda _: 100, lambda _: 77)
    calm.is_ready(1, A0, A1)
    calm.measures(RATES)
    assert STUCK not in calm.flags


def test_a_partition_that_its_consumer_reports_as_failing_opens_no_consumer() -> None:
    driver = Driver().takes_over({1: (A0, A1)})
    driver.measures(RATES, a_0=40, a_1=40)
    behind, at = named({"a_0": 10_000, "a_1": 0}), named({"a_0": 5, "a_1": 5})
    healthy: dict[str, Any] = {"lag_records": behind, "next_offsets": at, "records_per_s": 2.0, "bytes_per_s": 80.0}
    driver.reports(1, **healthy, failures=(Failure("a", "the disk is full"),))
    assert driver.measures(RATES) == ()
    driver.reports(1, **healthy)
    assert driver.measures(RATES) == (create(2),)
