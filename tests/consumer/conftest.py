"""Consumers' machines in the situations that most tests begin with."""

import pytest
from tests.support.consumer_machines import A0, B0, HELD, World


@pytest.fixture
def fresh() -> World:
    """Ready, holding nothing, in its first cycle."""
    return World().ready()


@pytest.fixture
def reading() -> World:
    """Reads a-0 from 15 and b-0 from 20 on, since before a crash."""
    return World(checkpoint=HELD, table={A0: 15, B0: 20}).ready()
