"""Poison is handed to no other consumer, nor what a crashed consumer may still write."""

import random
from dataclasses import replace

import pytest
from tests.support.simulator.checking import ONE, ORDINARY, TABLE, TWO, P, Said, process, start

from restow.controller.effects import Send
from restow.controller.state import View
from restow.controller.transitions import Phase
from restow.model import SortedMapping
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.topic_service import TopicService
from restow.simulator.checkers.crashes import PoisonStays, UnprotectedWaits
from restow.simulator.consumer import BROKEN_TRANSFORM, ConsumerProcess, Volume
from restow.simulator.controller import ControllerProcess
from restow.simulator.platform import Pod
from restow.simulator.world import World


def poison_killed(world: World, controller: ControllerProcess, said: Said) -> PoisonStays:
    """Consumer 1 has crashed; a record of its partition kills whoever reads it until 200 s."""
    world.agenda.run_until(100.0)
    world.platform.pods[ONE] = Pod(ONE, ConsumerSettings(), "")
    world.poison[P] = (7, 200.0)
    controller.state = replace(controller.state, consumers={ONE: View(Phase.CRASHED, 0.0, 0.0)})
    return PoisonStays(said)


def test_poison_is_handed_to_no_other_consumer(world: World, controller: ControllerProcess) -> None:
    said = Said()
    checker = poison_killed(world, controller, said)
    for _ in range(3):
        checker.started(controller, TWO, start())
        assert said == []
        checker.died(process(world, ONE, 20), P, 7)
    checker.started(controller, ONE, start())
    assert said == []
    checker.started(controller, TWO, start())
    assert said == [4]
    world.agenda.run_until(200.0)
    checker.started(controller, TWO, start())
    assert said == [4], "the record is harmless by then"


def test_deaths_where_the_group_was_are_unknown_to_its_new_controllers(world: World) -> None:
    said, former = Said(), world.move()
    controller = ControllerProcess(world, random.Random(1), "two")
    checker = poison_killed(world, controller, said)
    for _ in range(2):
        checker.died(ConsumerProcess(world, ONE, Volume(), ConsumerSettings(), random.Random(1), former), P, 7)
    checker.died(process(world, ONE, 20), P, 7)
    checker.started(controller, TWO, start())
    assert said == []
    for _ in range(2):
        checker.died(process(world, ONE, 20), P, 7)
    checker.started(controller, TWO, start())
    assert said == [4]


def test_poison_goes_to_another_consumer_when_its_own_was_replaced(world: World, controller: ControllerProcess) -> None:
    said = Said()
    checker = poison_killed(world, controller, said)
    for _ in range(3):
        checker.died(process(world, ONE, 20), P, 7)
    world.platform.pods[ONE] = Pod(ONE, ConsumerSettings(), "")
    checker.started(controller, TWO, start())
    assert said == []


def test_the_death_of_a_process_that_was_reported_gone_is_unknown(world: World, controller: ControllerProcess) -> None:
    said = Said()
    checker = poison_killed(world, controller, said)
    for _ in range(2):
        checker.died(process(world, ONE, 20), P, 7)
    gone = process(world, ONE, 20)
    gone.is_disowned = True
    checker.died(gone, P, 7)
    checker.started(controller, TWO, start())
    assert said == []


def test_poison_that_every_consumer_refuses_unread_may_be_offered_to_any(
    world: World, controller: ControllerProcess
) -> None:
    said = Said()
    checker = poison_killed(world, controller, said)
    for _ in range(3):
        checker.died(process(world, ONE, 20), P, 7)
    checker.started(controller, TWO, start(service=replace(TABLE, transform=BROKEN_TRANSFORM)))
    checker.started(controller, TWO, start())
    assert said == [], "the deaths before it no longer count"


@pytest.mark.parametrize(
    ("service", "phase", "said"),
    [
        pytest.param(ORDINARY, Phase.CRASHED, [1], id="its-table-takes-late-writes"),
        pytest.param(TABLE, Phase.CRASHED, [], id="its-table-refuses-them"),
        pytest.param(ORDINARY, Phase.LOST, [], id="it-was-given-up"),
    ],
)
def test_what_a_crashed_consumer_may_still_write_waits_for_it(
    controller: ControllerProcess, service: TopicService, phase: Phase, said: list[int]
) -> None:
    found = Said()
    checker = UnprotectedWaits(found)
    rules = replace(controller.state.rules, consume=SortedMapping({P.topic: service}))
    reader, other = View(Phase.READY, 0.0, 0.0, held=frozenset({P})), View(Phase.READY, 0.0, 0.0)
    before = replace(controller.state, rules=rules, consumers={ONE: reader, TWO: other})
    crashed = replace(before, consumers={ONE: View(Phase.CRASHED, 0.0, 0.0), TWO: other})
    checker.stepped(controller, before, (), crashed)
    after = replace(before, consumers={ONE: View(phase, 0.0, 0.0), TWO: other})
    checker.stepped(controller, crashed, (Send(TWO, start(service=service)),), after)
    assert found == said
    checker.stepped(controller, after, (Send(ONE, start(service=service)),), after)
    assert found == said, "its own"


def test_what_a_crashed_consumer_had_stopped_need_not_wait(controller: ControllerProcess) -> None:
    said = Said()
    checker = UnprotectedWaits(said)
    rules = replace(controller.state.rules, consume=SortedMapping({P.topic: ORDINARY}))
    held = frozenset({P})
    ready = replace(controller.state, rules=rules, consumers={ONE: View(Phase.READY, 0.0, 0.0, held=held)})
    crashed = replace(ready, consumers={ONE: View(Phase.CRASHED, 0.0, 0.0, held=held)})
    stopped = replace(ready, consumers={ONE: View(Phase.CRASHED, 0.0, 0.0)})
    checker.stepped(controller, ready, (), crashed)
    checker.stepped(controller, crashed, (), stopped)
    checker.stepped(controller, stopped, (Send(TWO, start(service=ORDINARY)),), stopped)
    assert said == []
