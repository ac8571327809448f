"""Loads restow's compiled code before the first test of packing, so that no test is charged for it."""

import pytest

from restow.packing import warm_up


@pytest.fixture(scope="session", autouse=True)
def _ready() -> None:
    warm_up()
