"""The checker of holds reports what a controller that knows nothing of a pause would do for load, and no recovery."""

from dataclasses import replace

import pytest
from tests.support.controller_driver import A0, A1, A2, A3, ELSEWHERE, SETTINGS, Driver, Requests

from restow.controller.effects import Send
from restow.controller.events import Event
from restow.controller.machine import step
from restow.controller.state import Pause, Sent
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.packing import warm_up
from restow.platform.interface import CreateConsumer
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.field_types import RECOVER, StartFrom
from restow.protocol.messages.commands import StartConsumingCommand, StopConsumingCommand
from restow.protocol.messages.desired import GroupPause, RecommendOnly
from restow.protocol.messages.service import ServiceUpdate
from restow.simulator.checkers.holds import Held
from restow.simulator.scenario import Level, scenario
from restow.simulator.world import run


@pytest.fixture(scope="module", autouse=True)
def _ready() -> None:
    warm_up()


class Watched(Driver):
    """A controller that gets other records than people wrote: it has read as far as they, and is not held."""

    def __init__(self, *, written: GroupPause | RecommendOnly) -> None:
        super().__init__()
        self.reported: list[str] = []
        self.checker = Held(lambda _, words: self.reported.append(words))
        self.checker.written(0, written)

    def happens(self, *events: Event) -> Requests:
        requests: Requests = ()
        for event in events:
            before = self.state
            after, effects = step(before, event)
            self.checker.stepped(before, effects, after)
            requests += super().happens(event)
        return requests


@pytest.fixture(params=[GroupPause(True), RecommendOnly(True)], ids=["paused", "only recommending"])
def watched(request: pytest.FixtureRequest) -> Watched:
    driver = Watched(written=request.param)
    driver.takes_over({1: (A0, A1), 2: (A2, A3)}, settings=SETTINGS.fingerprint)
    driver.measures(a_0=40, a_1=40, a_2=40, a_3=40)
    driver.desires(ServiceUpdate("add", "z", ELSEWHERE))
    assert driver.reported == []
    return driver


def test_a_consumer_that_is_created_for_load_and_the_move_to_it(watched: Watched) -> None:
    watched.measures(a_0=60, a_1=40, a_2=40, a_3=40)
    watched.is_ready(3)
    created, stopped = watched.reported
    assert created.startswith("consumer 3 is created while")
    assert stopped.startswith("consumer 1 is to stop a-1 for load while")


def test_a_consumer_that_is_closed(watched: Watched) -> None:
    watched.measures(a_0=4, a_1=4, a_2=4, a_3=4)
    watched.waits(65)
    watched.settles()
    assert any(words.startswith("delete of the healthy consumer") for words in watched.reported)


def test_a_roll(watched: Watched) -> None:
    watched.changes_consumers(ConsumerSettings(memory_mb=2048))
    watched.waits(20)
    assert [words.split(" while")[0] for words in watched.reported] == ["restart of the healthy consumer 1"]


def test_recovery_is_not_reported(watched: Watched) -> None:
    watched.goes(2)
    watched.is_ready(2)
    watched.settles()
    watched.changes("a", ELSEWHERE)
    watched.settles()
    watched.waits(60, silent=[1])
    watched.is_ready(1, *watched.fakes[1].held)
    assert watched.reported == []


def test_a_repeated_stop_is_not_reported(watched: Watched) -> None:
    """It was sent for a definition that changed. A Start with a later number follows it: the consumer refused an
    earlier one, so that it holds nothing."""
    view = watched.state.consumers[ConsumerId(1)]
    assert view.incarnation is not None
    stop = StopConsumingCommand(5, 3, view.incarnation, (A1,))
    services = SortedMapping(watched.services_of((A1,)))
    starts: dict[TopicPartition, StartFrom] = {A1: RECOVER}
    start = StartConsumingCommand(5, 4, view.incarnation, services, SortedMapping(starts))
    sent = (Sent(stop, 0.0, frozenset((A1,))), Sent(start, 0.0, frozenset((A1,))))
    before = replace(watched.state, consumers={**watched.state.consumers, ConsumerId(1): replace(view, sent=sent)})
    watched.checker.stepped(before, (Send(ConsumerId(1), stop),), before)
    assert watched.reported == []
    watched.checker.stepped(before, (Send(ConsumerId(1), replace(stop, sequence=5)),), before)
    assert len(watched.reported) == 1


def test_a_denied_claim_is_not_reported_and_the_same_stop_of_a_running_consumer_is(watched: Watched) -> None:
    """The consumer came back after a crash, and others have what it claims."""
    before = watched.state
    view = before.consumers[ConsumerId(1)]
    assert view.incarnation is not None
    stop = (Send(ConsumerId(1), StopConsumingCommand(5, 3, view.incarnation + 1, (A1,))),)
    back = replace(view, incarnation=view.incarnation + 1, held=frozenset())
    after = replace(before, consumers={**before.consumers, ConsumerId(1): back})
    watched.checker.stepped(before, stop, after)
    assert watched.reported == []
    watched.checker.stepped(after, stop, after)
    [words] = watched.reported
    assert words.startswith("consumer 1 is to stop a-1 for load while")


def test_nor_is_one_that_was_open_while_other_consumers_were_asked(watched: Watched) -> None:
    """Its consumer came back some steps ago. What it did not claim is still reported."""
    state = watched.state
    view = replace(state.consumers[ConsumerId(1)], held=frozenset(), claims=frozenset([A0]))
    claimed = replace(state, consumers={**state.consumers, ConsumerId(1): view})
    assert view.incarnation is not None
    stop = StopConsumingCommand(5, 3, view.incarnation, (A0, A1))
    watched.checker.stepped(claimed, (Send(ConsumerId(1), stop),), claimed)
    [words] = watched.reported
    assert words.startswith("consumer 1 is to stop a-1 for load while")


def test_the_first_consumer_with_new_code_is_not_reported_while_partitions_are_refused(watched: Watched) -> None:
    before, create = watched.state, (CreateConsumer(ConsumerId(3), SETTINGS),)
    refusing = replace(before, refused=SortedMapping({A1: Pause()}))
    watched.checker.stepped(refusing, create, before)
    assert watched.reported == []
    watched.checker.stepped(before, create, before)
    [words] = watched.reported
    assert words.startswith("consumer 3 is created while")


@pytest.mark.slow
def test_a_pause_set_by_a_clock_ahead_of_time_does_not_last_into_the_quiet_period() -> None:
    """In this seed the clock is eight minutes ahead when people pause the group for half a minute."""
    assert run(scenario(1007720, 0.5, faults=Level.MANY)).violations == ()
