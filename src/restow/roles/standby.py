"""The wait of a controller that is not in charge yet. `roles/controller.py` waits here before it fences anybody.

A standby reads partition 0 of the controller topic, touches its health files as a working controller does, and has no
producer. It returns when it should take over, and why.
"""

import logging
import time
from collections.abc import Callable
from typing import Final, Protocol

from restow.controller.standby import Standby
from restow.health import Health
from restow.kafka.channels.controller import ControllerChannel

log = logging.getLogger(__name__)

LOOK_EVERY_S: Final = 0.2


class Lock(Protocol):
    """The locks of controllers on one platform; `platform/processes/controllers.py` has them."""

    name: str | None

    def is_free(self, name: str) -> bool: ...

    def remove_free(self) -> None: ...


def wait_for_charge(
    channel: ControllerChannel,
    take_over_after_s: float,
    is_dead: Callable[[Standby], bool],
    health: Health,
    should_stop: Callable[[float], bool],
) -> str | None:
    """Returns why this controller should take over; None if it should end."""
    standby = Standby(take_over_after_s, from_beginning=channel.watch())
    told, free = "", None
    while not should_stop(0.0):
        health.alive()
        for sign in channel.signs(LOOK_EVERY_S):
            standby = standby.heard(sign)
        standby = standby.ticked(time.monotonic(), channel.is_listening())
        cause = standby.cause(free is not None and free == standby.lock)
        if cause is not None:
            return cause
        # One look later: a controller that ends says so before its lock is free.
        free = standby.lock if standby.has_looked and is_dead(standby) else None
        if standby.has_looked and told != standby.in_charge:
            told = standby.in_charge
            health.ready()
            log.info("%s", _line(standby))
    return None


def _line(standby: Standby) -> str:
    after_s = standby.take_over_after_s
    if standby.last is None:
        return f"standby: listening for {after_s:g} s whether a controller is in charge of this group"
    return (
        f"standby: {standby.in_charge} is in charge of this group; this controller takes over when that one ends, or "
        f"has been silent for {after_s:g} s; --take-over forces it"
    )
