"""A second controller waits: when a starting controller takes over, and when it does not."""

from restow.controller.standby import ALIVE_EVERY_S, LONGEST_TICK_S, Standby
from restow.protocol.messages.controller_events import (
    ControllerAlive,
    ControllerStarted,
    ControllerStopped,
    PlatformChangeIntended,
)
from restow.protocol.platform_identity import PlatformIdentity
from restow.settings import Controller

LIMIT_S = Controller().take_over_after_s
HERE = PlatformIdentity("processes-1", "host-a:/srv/restow-data")
STARTED = ControllerStarted("host-a-1", HERE, "controller-1-abc")
ALIVE = ControllerAlive(7, "host-a-1", HERE, "controller-1-abc")
STOPPED = ControllerStopped(7, "host-a-1")


def looking(*signs: ControllerStarted | ControllerAlive | ControllerStopped, from_beginning: bool = True) -> Standby:
    """A controller that has started and read partition 0 to its end."""
    standby = Standby(LIMIT_S, from_beginning=from_beginning)
    for sign in signs:
        standby = standby.heard(sign)
    return standby.ticked(100.0, listening=True)


def waits(standby: Standby, seconds: float, *, listening: bool = True) -> Standby:
    for _ in range(round(seconds)):
        assert standby.now_s is not None
        standby = standby.ticked(standby.now_s + 1.0, listening)
    return standby


def test_the_first_controller_of_a_group_takes_over_at_once() -> None:
    assert looking().cause(is_dead=False) == "no controller was in charge"


def test_nothing_is_decided_before_the_end_of_the_partition_is_read() -> None:
    standby = Standby(LIMIT_S, from_beginning=True).ticked(100.0, listening=False).ticked(200.0, listening=False)
    assert standby.cause(is_dead=False) is None
    assert standby.heard(STOPPED).cause(is_dead=False) is None


def test_after_a_clean_stop_it_takes_over_at_once() -> None:
    assert looking(STARTED, ALIVE, STOPPED).cause(is_dead=False) == "host-a-1 has ended"


def test_a_controller_that_started_after_the_stop_is_in_charge() -> None:
    other = ControllerStarted("host-b-2")
    standby = looking(STARTED, STOPPED, other)
    assert standby.cause(is_dead=False) is None
    assert standby.in_charge == "host-b-2"


def test_a_dead_one_is_succeeded_at_once() -> None:
    standby = looking(STARTED)
    assert standby.lock == ("processes-1", "controller-1-abc")
    assert standby.cause(is_dead=False) is None
    assert standby.cause(is_dead=True) == "host-a-1 is dead"


def test_one_of_an_older_version_names_no_lock() -> None:
    assert looking(ControllerStarted("host-a-1")).lock is None
    assert looking(STOPPED).lock is None
    assert looking().lock is None


def test_it_waits_as_long_as_signs_of_life_come() -> None:
    standby = looking(STARTED)
    for _ in range(100):
        standby = waits(standby, ALIVE_EVERY_S).heard(ALIVE)
        assert standby.cause(is_dead=False) is None


def test_an_intention_is_a_sign_of_life_too() -> None:
    standby = waits(looking(ALIVE), LIMIT_S - 1).heard(PlatformChangeIntended(7))
    assert waits(standby, LIMIT_S - 1).cause(is_dead=False) is None
    assert standby.in_charge == "host-a-1"


def test_after_ten_seconds_of_silence_it_takes_over() -> None:
    standby = waits(looking(ALIVE), LIMIT_S - 1)
    assert standby.cause(is_dead=False) is None
    assert waits(standby, 1).cause(is_dead=False) == "host-a-1 has been silent for 10 s"


def test_an_outage_of_the_brokers_is_no_silence() -> None:
    standby = waits(looking(ALIVE), 1000, listening=False)
    assert standby.cause(is_dead=False) is None
    assert waits(standby, LIMIT_S).cause(is_dead=False) is not None


def test_its_own_pause_is_no_silence() -> None:
    standby = looking(ALIVE)
    assert standby.now_s is not None
    standby = standby.ticked(standby.now_s + 3600, listening=True)
    assert standby.silent_s == LONGEST_TICK_S
    assert standby.cause(is_dead=False) is None


def test_if_the_last_controller_is_too_far_back_it_listens_first() -> None:
    standby = looking(from_beginning=False)
    assert standby.cause(is_dead=False) is None
    assert waits(standby, LIMIT_S).cause(is_dead=False) is not None
    assert waits(standby, 3).heard(STOPPED).cause(is_dead=False) is not None
