"""For tests of crashes: groups whose consumers claim what they held, and what they report."""

from collections.abc import Mapping
from typing import Any

from tests.support.controller_driver import TO_A, TO_B, Driver, rules

from restow.model import SortedMapping, TopicPartition
from restow.protocol.topic_service import TopicService


def claiming(
    holding: Mapping[int, tuple[TopicPartition, ...]],
    speed: float = 40.0,
    consume: Mapping[str, TopicService] | None = None,
    **controller: Any,
) -> Driver:
    """Consumers that know claims, in Sentinel; every partition has this speed, of a capacity of 100."""
    driver = Driver(rules(consume or {"a": TO_A, "b": TO_B}, **controller)).takes_over(holding)
    driver.measures(None, **{str(p).replace("-", "_"): speed for held in holding.values() for p in held})
    for consumer in holding:
        driver.fakes[consumer].will_claim = True
        driver.reports(consumer)
    assert driver.is_calm
    return driver


def progress(driver: Driver, consumer: int, offset: int, **changes: Any) -> None:
    driver.reports(
        consumer,
        next_offsets=SortedMapping(dict.fromkeys(driver.fakes[consumer].held, offset)),
        **changes,
    )
