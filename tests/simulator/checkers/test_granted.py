"""A restart that a person asked for happens once."""

from dataclasses import replace

import pytest
from tests.support.simulator.checking import ONE, Said

from restow.controller.state import View
from restow.controller.transitions import Phase
from restow.platform.interface import RestartConsumer
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.messages.desired import ConsumerRestart
from restow.simulator.checkers.granted import RestartedOnce
from restow.simulator.controller import ControllerProcess


@pytest.mark.parametrize(
    ("known", "said"),
    [
        pytest.param(10, [], id="the-process-that-people-want-replaced"),
        pytest.param(30, [4], id="it-was-replaced"),
    ],
)
@pytest.mark.parametrize("later", [None, 10**9], ids=["as-asked", "a-later-record-is-refused"])
def test_a_consumer_is_restarted_once_for_one_record(
    controller: ControllerProcess, known: int, later: int | None, said: list[int]
) -> None:
    controller.world.kafka.take_over(controller)
    view = View(Phase.ROLLING, 0.0, 0.0, incarnation=known, is_asked=True)
    controller.state = replace(controller.state, consumers={ONE: view})
    found = Said()
    checker = RestartedOnce(found)
    for up_to in (10, later):
        checker.asked(ConsumerRestart(ONE, up_to), 0.0)
    checker.requested(controller, RestartConsumer(ONE, ConsumerSettings()))
    assert found == said
