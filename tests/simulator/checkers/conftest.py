"""A simulated world, and a controller in it, for tests of checkers."""

import random

import pytest

from restow.simulator.controller import ControllerProcess
from restow.simulator.scenario import scenario
from restow.simulator.world import World


@pytest.fixture
def world() -> World:
    return World(scenario(1))


@pytest.fixture
def controller(world: World) -> ControllerProcess:
    return ControllerProcess(world, random.Random(1), "one")
