"""The simulator's platform keeps the contract of all platforms; its time is its own."""

import random
from collections.abc import Callable, Hashable

import pytest
from tests.support.platform_contract import GROUP, PlatformContract, PlatformMaker

from restow.model import ConsumerId, SortedMapping
from restow.platform.interface import Platform
from restow.protocol.consumer_settings import ConsumerSettings
from restow.simulator.agenda import Agenda
from restow.simulator.platform import PlatformClient, SimulatedPlatform

GRACE_S = 10.0
LONG_S = 3600.0


def settings(manner: str) -> ConsumerSettings:
    return ConsumerSettings(env=SortedMapping({"manner": manner}))


class FakeProcess:
    """Runs until SIGTERM, or ignores it, or crashes at once."""

    def __init__(self, agenda: Agenda, platform: SimulatedPlatform, manner: str) -> None:
        self._agenda, self._platform, self._manner = agenda, platform, manner
        self.is_disowned = False
        self.is_alive = True

    def begin(self) -> None:
        if self._manner == "failing":
            self._agenda.after(0.1, self.die)

    def terminate(self) -> None:
        if self._manner != "stubborn":
            self._agenda.after(0.1, self.die)

    def die(self) -> None:
        if self.is_alive:
            self.is_alive = False
            self._platform.exited(self)


class SimulatedMaker:
    well, stubborn, failing = settings("well"), settings("stubborn"), settings("failing")

    def __init__(self) -> None:
        self._agenda = Agenda()
        self._platforms: dict[str, SimulatedPlatform] = {}
        self._volumes: dict[ConsumerId, str] = {}

    def make(self, group: str = GROUP) -> Platform:
        if group not in self._platforms:
            self._platforms[group] = SimulatedPlatform(
                self._agenda, random.Random(group), self._spawner(group), self._remove_volume, GRACE_S
            )
        return PlatformClient(self._platforms[group])

    def advance(self, condition: Callable[[], object]) -> None:
        end_s = self._agenda.now_s + LONG_S
        while not condition():
            assert self._agenda.now_s < end_s, f"not within {LONG_S:g} simulated seconds"
            self._agenda.run_until(self._agenda.now_s + 0.05)

    def process(self, consumer: ConsumerId) -> Hashable | None:
        pod = self._platforms[GROUP].pods.get(consumer)
        process = None if pod is None else pod.process
        assert process is None or isinstance(process, FakeProcess)
        return process

    def crash(self, consumer: ConsumerId) -> None:
        process = self._platforms[GROUP].pods[consumer].process
        assert process is not None
        process.die()

    def write(self, consumer: ConsumerId, text: str) -> None:
        self._volumes[consumer] = text

    def read(self, consumer: ConsumerId) -> str:
        return self._volumes[consumer]

    def _spawner(self, group: str) -> Callable[[ConsumerId, ConsumerSettings], FakeProcess]:
        return lambda _, given: FakeProcess(self._agenda, self._platforms[group], given.env["manner"])

    def _remove_volume(self, consumer: ConsumerId) -> None:
        self._volumes.pop(consumer, None)


class TestSimulatedPlatform(PlatformContract):
    @pytest.fixture
    def platform_maker(self) -> PlatformMaker:
        return SimulatedMaker()

    def test_a_consumer_that_is_gone_leaves_no_volume(self) -> None:
        maker = SimulatedMaker()
        platform = maker.make()
        platform.create(ConsumerId(1), maker.well)
        maker.advance(lambda: maker.process(ConsumerId(1)))
        maker.write(ConsumerId(1), "what it held")
        platform.delete(ConsumerId(1))
        maker.advance(lambda: not platform.list())
        with pytest.raises(KeyError):
            maker.read(ConsumerId(1))
