"""One consumer rolls at a time."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.support.simulator.checking import ONE, TWO, Said, process

from restow.controller.state import View
from restow.controller.transitions import Phase
from restow.model import ConsumerId
from restow.platform.interface import RestartConsumer
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.messages.service import ServiceUpdate
from restow.simulator.checkers.rolls import OneRolls
from restow.simulator.consumer import BROKEN_CODE, ConsumerProcess
from restow.simulator.controller import ControllerProcess
from restow.simulator.platform import BROKEN_IMAGE, Pod
from restow.simulator.scenario import scenario
from restow.simulator.world import World


class TestOneRolls:
    @pytest.fixture
    def said(self) -> Said:
        return Said()

    @pytest.fixture
    def checker(self, said: Said) -> OneRolls:
        return OneRolls(said)

    @pytest.fixture
    def rolls(self, world: World, controller: ControllerProcess, checker: OneRolls) -> Callable[..., Pod]:
        """The controller in charge restarts a consumer with new settings, and the platform has taken that."""
        world.kafka.take_over(controller)

        def roll(
            number: ConsumerId,
            image: str = "restow:2",
            phase: Phase = Phase.ROLLING,
            process: ConsumerProcess | None = None,
            other: Phase | None = None,
        ) -> Pod:
            settings = ConsumerSettings(image)
            pod = Pod(number, settings, settings.fingerprint, process)
            world.platform.pods[number] = pod
            others = {} if other is None else {ConsumerId(3 - number): View(other, 0.0, 0.0)}
            controller.state = replace(controller.state, consumers={number: View(phase, 0.0, 0.0), **others})
            checker.requested(controller, RestartConsumer(number, settings))
            return pod

        return roll

    def ready(self, checker: OneRolls, world: World, number: ConsumerId, image: str = "restow:2") -> None:
        one = process(world, number, 10)
        one.settings = ConsumerSettings(image)
        checker.ready(one)

    def test_two_at_once_are_seen(self, said: Said, rolls: Callable[..., Pod]) -> None:
        rolls(ONE)
        rolls(TWO)
        assert said == [4]

    def test_the_next_may_follow_when_the_first_is_ready_with_its_new_settings(
        self, checker: OneRolls, said: Said, world: World, rolls: Callable[..., Pod]
    ) -> None:
        rolls(ONE)
        self.ready(checker, world, ONE, image="restow:1")
        rolls(TWO)
        assert said == [4]
        self.ready(checker, world, ONE)
        rolls(TWO)
        assert said == [4]

    @pytest.mark.parametrize("phase", [Phase.LEAVING, Phase.LOST])
    def test_the_next_may_follow_when_the_first_is_given_up_but_the_platform_refuses_to_delete_it(
        self, said: Said, rolls: Callable[..., Pod], phase: Phase
    ) -> None:
        rolls(ONE)
        rolls(TWO, other=phase)
        assert said == []

    def test_the_next_may_follow_when_the_first_leaves_or_is_gone(
        self, said: Said, world: World, rolls: Callable[..., Pod]
    ) -> None:
        rolls(ONE).leaving = True
        rolls(TWO)
        del world.platform.pods[TWO]
        rolls(ConsumerId(3))
        assert said == []

    def test_a_restart_because_of_a_failure_is_none(self, said: Said, rolls: Callable[..., Pod]) -> None:
        rolls(ONE)
        rolls(TWO, phase=Phase.RESTARTED)
        assert said == []

    def test_bad_settings_may_be_tried_with_one_and_again_where_that_one_was_taken_away(
        self, said: Said, world: World, rolls: Callable[..., Pod]
    ) -> None:
        first = rolls(ONE, BROKEN_IMAGE)
        del world.platform.pods[ONE]
        first.is_lost = True
        rolls(TWO, BROKEN_IMAGE)
        assert said == []
        first.is_lost = False
        rolls(TWO, BROKEN_IMAGE)
        assert said == [4]

    def test_broken_code_may_be_tried_with_one(
        self, checker: OneRolls, said: Said, world: World, rolls: Callable[..., Pod]
    ) -> None:
        world.change_code(f"{BROKEN_CODE}:1")
        rolls(ONE)
        self.ready(checker, world, ONE)
        two = process(world, TWO, 10)
        rolls(TWO, process=two)
        assert said == [], "it reads nothing that the code would have to run"
        self.ready(checker, world, TWO)
        two.positions = {next(iter(world.data.partitions)): 0}
        rolls(TWO, process=two)
        assert said == [4]

    def test_older_code_is_seen(self, checker: OneRolls, said: Said, world: World) -> None:
        one = process(world, ONE, 10)
        one.settings = replace(world.settings, code=world.code)
        one.code = world.code
        checker.end(world)
        assert said == []
        one.code = "code:older"
        checker.end(world)
        assert said == [4]

    def test_older_settings_are_seen_after_a_quiet_that_was_long_enough(
        self, checker: OneRolls, said: Said, world: World, rolls: Callable[..., Pod]
    ) -> None:
        rolls(ONE)
        process(world, ONE, 10)
        checker.end(World(scenario(1, hours=0.2)))
        checker.end(world)
        assert said == [4, 4]
        world.update(ServiceUpdate("consumers", consumers=ConsumerSettings("restow:2", memory_mb=2048)))
        assert world.settings == replace(world.scenario.consumer.settings, image="restow:2", memory_mb=2048)
