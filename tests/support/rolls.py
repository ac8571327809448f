"""For tests of rolls: settings, and groups that are rolled."""

from dataclasses import replace

from tests.support.controller_driver import (
    A0,
    A1,
    A2,
    A3,
    SETTINGS,
    Driver,
    Requests,
    restart,
)

from restow.model import SortedMapping
from restow.protocol.consumer_settings import ConsumerSettings

NEWER = ConsumerSettings("restow:2", 1024, 1.0, 100.0, SortedMapping({"LOG_LEVEL": "debug"}))
NEWEST = replace(NEWER, image="restow:3")
OLD = SETTINGS.fingerprint


def two_with_old_settings() -> Driver:
    """Two consumers that run by the settings that hold, each with two partitions at 40 % of a consumer."""
    return well(Driver().takes_over({1: (A0, A1), 2: (A2, A3)}, OLD))


def well(driver: Driver, **speeds: float) -> Driver:
    """Every consumer has reported, and speeds are known."""
    for consumer in sorted(driver.fakes):
        driver.reports(consumer)
    driver.measures(None, **(speeds or {"a_0": 40, "a_1": 40, "a_2": 40, "a_3": 40}))
    assert driver.is_calm
    return driver


def ends(driver: Driver, consumer: int) -> Requests:
    """As after SIGTERM: it stops its partitions, reports their offsets, and its process ends."""
    fake = driver.fakes[consumer]
    message = driver.stopped(consumer, None, fake.held)
    fake.held = {}
    return driver.hears(message)


def rolling(driver: Driver, settings: ConsumerSettings = NEWER) -> Driver:
    """The first is being restarted, and has ended as it should."""
    assert driver.changes_consumers(replace(settings, capacity_bytes_per_s=None)) == ()
    assert driver.measures() == (restart(1, settings),)
    assert ends(driver, 1) == ()
    return driver
