"""Controllers in the situations that most tests begin with."""

import pytest
from tests.support.controller_driver import A0, A1, A2, A3, B0, Driver
from tests.support.crashes import claiming

from restow.packing import warm_up


@pytest.fixture(scope="session", autouse=True)
def _ready() -> None:
    warm_up()


@pytest.fixture
def alone() -> Driver:
    """In Sentinel, without consumers."""
    return Driver().takes_over()


@pytest.fixture
def pair() -> Driver:
    """In Sentinel: consumer 1 has a-0 and a-1, consumer 2 has a-2 and a-3, each partition at 40 % of a consumer."""
    driver = Driver().takes_over({1: (A0, A1), 2: (A2, A3)})
    driver.measures(a_0=40, a_1=40, a_2=40, a_3=40)
    assert driver.is_calm
    return driver


@pytest.fixture
def roomy() -> Driver:
    """Consumers 1 and 2 have two partitions each, consumer 3 has one; all of them at 20 of 100."""
    return claiming({1: (A0, A1), 2: (A2, A3), 3: (B0,)}, speed=20.0, least_consumers=3)
