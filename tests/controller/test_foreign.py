"""A second set of consumers never reads beside the first: consumers of the group on another platform."""

from dataclasses import replace

from tests.support.controller_driver import A0, EPOCH, RULES, Driver, Requests, create

from restow.controller.effects import ListConsumers
from restow.controller.event_log import replay
from restow.controller.events import ClockTicked, ConsumerElsewhere, Heard, Received, TookOver
from restow.controller.foreign import ELSEWHERE, silent_after_s
from restow.controller.transitions import Stage
from restow.model import ConsumerId, SortedMapping
from restow.protocol.messages.consumer_events import ConsumerReady, StateQueryResponse
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.messages.unions import FromConsumer
from restow.protocol.platform_identity import PlatformIdentity

HERE = PlatformIdentity("processes-1", "host-b:/srv/restow-data")
THERE = PlatformIdentity("processes-2", "host-a:/srv/restow-data")
ONE, TWO = ConsumerId(1), ConsumerId(2)
SILENT_S = silent_after_s(Driver().state)


def started(*elsewhere: ConsumerElsewhere, is_forced: bool = False, platform: PlatformIdentity | None = HERE) -> Driver:
    """A controller that has taken over, and whose own platform has no consumers."""
    driver = Driver(RULES)
    driver.happens(ClockTicked(driver.now_s))
    assert driver.happens(TookOver(EPOCH, platform, elsewhere, is_forced)) == (ListConsumers(),)
    return driver


def report(consumer: ConsumerId = ONE, platform: PlatformIdentity | None = THERE) -> ConsumerReport:
    return ConsumerReport(
        consumer, 40, SortedMapping({A0: 3}), SortedMapping(), 1.0, 1.0, False, 1.0, 1.0, platform=platform
    )


def hears(driver: Driver, message: FromConsumer) -> Requests:
    return driver.happens(Received((Heard(driver.next_offset(), message),)))


def waits(driver: Driver, seconds: float) -> Requests:
    """Time passes, speeds arrive, and no consumer reports."""
    done: Requests = ()
    for _ in range(round(seconds)):
        done += (*driver.ticks(), *driver.measures(a_0=40))
    return tuple(each for each in done if not isinstance(each, ListConsumers))


def test_nothing_is_started_beside_consumers_that_report_from_elsewhere() -> None:
    driver = started(ConsumerElsewhere(ONE, THERE))
    driver.lists()
    for _ in range(100):
        assert waits(driver, 5) == ()
        assert hears(driver, report()) == ()
    assert driver.state.stage is Stage.SYNCHRONIZE
    assert driver.state.consumers == {}
    flag = driver.state.flags[ELSEWHERE]
    assert flag.startswith(
        "this group has consumer 1 on host-a:/srv/restow-data, and this controller's platform is host-b"
    )
    assert "until they have been silent for 15 s" in flag
    assert "--take-over" in flag


def test_when_they_have_been_silent_for_three_report_intervals_the_group_starts() -> None:
    driver = started(ConsumerElsewhere(ONE, THERE))
    driver.lists()
    assert waits(driver, SILENT_S - 1) == ()
    assert create(1) in waits(driver, 1)
    assert ELSEWHERE not in driver.state.flags
    assert not driver.state.foreign
    assert [note.words for note in driver.notes if note.subject == ELSEWHERE] == []


def test_one_that_is_heard_first_while_it_synchronizes_is_waited_for_too() -> None:
    driver = started()
    hears(driver, report(TWO))
    driver.lists()
    assert driver.state.stage is Stage.SYNCHRONIZE
    assert waits(driver, SILENT_S - 1) == ()
    hears(driver, report(TWO))
    assert waits(driver, SILENT_S - 1) == ()
    assert create(1) in waits(driver, 1)


def test_time_in_which_it_could_hear_nothing_is_no_silence() -> None:
    driver = started(ConsumerElsewhere(ONE, THERE))
    driver.lists()
    for _ in range(100):
        driver.ticks(listening=False)
    assert driver.state.stage is Stage.SYNCHRONIZE


def test_a_person_may_say_that_they_hold_nothing_up() -> None:
    driver = started(ConsumerElsewhere(ONE, THERE), is_forced=True)
    driver.lists()
    assert driver.state.stage is Stage.SENTINEL
    assert ELSEWHERE in driver.state.flags
    assert create(1) in waits(driver, 1)


def test_later_they_only_raise_a_flag_until_they_are_silent() -> None:
    driver = started()
    driver.lists()
    assert driver.state.stage is Stage.SENTINEL
    hears(driver, report())
    hears(driver, report(TWO))
    assert driver.state.flags[ELSEWHERE].startswith("this group has consumers 1 and 2 on host-a:/srv/restow-data")
    assert "nothing is started" not in driver.state.flags[ELSEWHERE]
    assert create(1) in waits(driver, 1)
    waits(driver, SILENT_S)
    assert ELSEWHERE not in driver.state.flags


def test_their_messages_say_nothing_about_our_consumers_of_the_same_number() -> None:
    driver = started()
    driver.lists(1)
    response = StateQueryResponse(ONE, 40, EPOCH, 1, SortedMapping({A0: 3}), SortedMapping(), 0, platform=THERE)
    hears(driver, response)
    hears(driver, ConsumerReady(ONE, True, (A0,), SortedMapping(), SortedMapping(), platform=THERE))
    hears(driver, report())
    view = driver.state.consumers[ONE]
    assert (view.incarnation, view.held, view.has_reported_holdings) == (None, frozenset(), False)
    hears(driver, replace(response, platform=HERE))
    assert driver.state.consumers[ONE].held == {A0}


def test_own_consumers_older_senders_and_an_unknown_platform_hold_nothing_up() -> None:
    for driver, platform in ((started(), HERE), (started(), None), (started(platform=None), THERE)):
        hears(driver, report(platform=platform))
        driver.lists()
        assert driver.state.stage is Stage.SENTINEL
        assert not driver.state.foreign
        assert ELSEWHERE not in driver.state.flags


def test_it_is_replayed() -> None:
    driver = started(ConsumerElsewhere(ONE, THERE))
    driver.lists()
    waits(driver, SILENT_S)
    steps = list(replay(driver.log))
    assert all(step.agrees for step in steps)
    assert steps[-1].after == driver.state
