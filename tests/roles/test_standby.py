"""A controller that waits: a controller that ends says so before its lock is free, and is not taken for dead."""

from collections.abc import Iterator
from typing import cast

import pytest

from restow.controller.standby import Standby
from restow.health import Health
from restow.kafka.channels.controller import ControllerChannel
from restow.protocol.messages.controller_events import ControllerAlive, ControllerStopped
from restow.protocol.messages.unions import OfController
from restow.protocol.platform_identity import PlatformIdentity
from restow.roles.standby import wait_for_charge

HERE = PlatformIdentity("machine:directory", "machine:directory")
ALIVE = ControllerAlive(5, "host-1", HERE, "lock-1")
STOPPED = ControllerStopped(5, "host-1")


class Signs:
    """What each look finds on the topic."""

    def __init__(self, *looks: list[OfController]) -> None:
        self._looks = iter(looks)

    def watch(self) -> bool:
        return False

    def signs(self, within_s: float) -> Iterator[OfController]:
        assert within_s > 0
        return iter(next(self._looks))

    def is_listening(self) -> bool:
        return True


class NoFiles:
    def alive(self) -> None:
        pass

    def ready(self) -> None:
        pass


@pytest.mark.parametrize(
    ("looks", "words"),
    [
        ((([ALIVE]), [STOPPED]), "host-1 has ended"),
        ((([ALIVE]), []), "host-1 is dead"),
    ],
    ids=["ended", "killed"],
)
def test_a_free_lock_counts_one_look_later(looks: tuple[list[OfController], ...], words: str) -> None:
    def is_free(standby: Standby) -> bool:
        return standby.lock == (HERE.id, "lock-1")

    channel, health = cast("ControllerChannel", Signs(*looks)), cast("Health", NoFiles())
    assert wait_for_charge(channel, 600.0, is_free, health, lambda _: False) == words


def test_the_lock_of_another_controller_that_is_in_charge_since_does_not_count() -> None:
    """The first one's lock is free; meanwhile the second has taken over."""
    second = ControllerAlive(9, "host-2", HERE, "lock-2")
    ends = iter((False, False, False, True))
    channel, health = cast("ControllerChannel", Signs([ALIVE], [second], [])), cast("Health", NoFiles())
    assert (
        wait_for_charge(
            channel, 600.0, lambda standby: standby.lock == (HERE.id, "lock-1"), health, lambda _: next(ends)
        )
        is None
    )
