"""The group keeps its least number of consumers."""

import random
from dataclasses import replace

import pytest
from tests.support.simulator.checking import ONE, TWO, Said

from restow.controller.state import View
from restow.controller.transitions import Phase
from restow.platform.interface import DeleteConsumer
from restow.protocol.consumer_settings import ConsumerSettings
from restow.simulator.checkers.group_size import LeastKept
from restow.simulator.controller import ControllerProcess
from restow.simulator.platform import Pod
from restow.simulator.world import World


@pytest.mark.parametrize(
    ("least", "failures", "waited_s", "is_replaced", "said"),
    [
        pytest.param(2, 0, 100.0, False, [4], id="one-is-late-and-needed"),
        pytest.param(1, 0, 100.0, False, [], id="the-other-is-enough"),
        pytest.param(2, 1, 100.0, False, [], id="its-start-failed"),
        pytest.param(2, 0, 1000.0, False, [], id="it-was-waited-for"),
        pytest.param(2, 0, 100.0, True, [], id="it-was-decided-before-another-took-over"),
    ],
)
def test_a_late_consumer_that_is_needed_may_not_be_deleted(
    world: World,
    controller: ControllerProcess,
    least: int,
    failures: int,
    waited_s: float,
    is_replaced: bool,
    said: list[int],
) -> None:
    world.kafka.take_over(ControllerProcess(world, random.Random(2), "two") if is_replaced else controller)
    chosen = replace(world.rules.controller, least_consumers=least, ready_within_s=60.0)
    world.rules = replace(world.rules, controller=chosen)
    world.agenda.run_until(waited_s)
    world.platform.pods[TWO] = Pod(TWO, ConsumerSettings(), "", failures=failures)
    views = {ONE: View(Phase.READY, 0.0, 0.0, incarnation=1), TWO: View(Phase.LEAVING, 0.0, 0.0)}
    controller.state = replace(controller.state, rules=world.rules, consumers=views)
    found = Said()
    LeastKept(found).requested(controller, DeleteConsumer(TWO))
    assert found == said
