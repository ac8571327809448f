"""One controller is in charge, and changes the platform only as it intended."""

import random

import pytest
from tests.support.simulator.checking import ONE, TWO, Said

from restow.platform.interface import DeleteConsumer
from restow.protocol.messages.controller_events import ControllerAlive, PlatformChangeIntended
from restow.simulator.checkers.in_charge import OneInCharge, OnlyIntended
from restow.simulator.checkers.report import LATE_S
from restow.simulator.controller import ControllerProcess
from restow.simulator.topics import Topic
from restow.simulator.world import World


def test_the_platform_is_touched_only_after_the_intention_is_committed(controller: ControllerProcess) -> None:
    said = Said()
    checker = OnlyIntended(said)
    checker.intended(controller, PlatformChangeIntended(5, delete=(ONE,)))
    checker.requested(controller, DeleteConsumer(ONE))
    assert said == []
    checker.requested(controller, DeleteConsumer(TWO))
    assert said == [5]


class TestOneInCharge:
    @pytest.fixture
    def said(self) -> Said:
        return Said()

    @pytest.fixture
    def checker(self, said: Said) -> OneInCharge:
        return OneInCharge(said)

    @pytest.fixture
    def second(self, world: World, controller: ControllerProcess) -> ControllerProcess:
        """A second controller, five seconds after a sign of life of the first."""
        world.kafka.take_over(controller)
        controller.epoch = 0
        world.kafka.commit(controller, [(Topic.CONTROLLER, 0, world.wire.seal(ControllerAlive(0, "one")))])
        world.agenda.run_until(5.0)
        return ControllerProcess(world, random.Random(2), "two")

    def test_a_controller_that_gives_signs_of_life_must_not_be_fenced(
        self, checker: OneInCharge, said: Said, second: ControllerProcess
    ) -> None:
        checker.taking_over(second)
        assert said == [4]

    def test_a_dead_or_silent_one_may_be_and_a_person_may_force_it(
        self, checker: OneInCharge, said: Said, controller: ControllerProcess, second: ControllerProcess
    ) -> None:
        second.is_forced = True
        checker.taking_over(second)
        second.is_forced = False
        controller.is_alive = False
        checker.taking_over(second)
        controller.is_alive = True
        second.world.agenda.run_until(30.0)
        checker.taking_over(second)
        assert said == []

    def test_after_the_faults_none_takes_over(
        self, checker: OneInCharge, said: Said, world: World, controller: ControllerProcess
    ) -> None:
        world.agenda.run_until(world.scenario.duration_s - world.scenario.quiet_s + LATE_S - 1)
        checker.taking_over(controller)
        assert said == []
        world.agenda.run_until(world.agenda.now_s + 2)
        checker.taking_over(controller)
        assert said == [4]
