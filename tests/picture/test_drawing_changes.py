"""A change between two whole pictures is drawn from the whole, and says the same of what moved."""

import subprocess
import sys
from collections.abc import Callable

import pytest
from tests.support.controller_driver import A0, A1
from tests.support.paths import ROOT
from tests.support.picture_driver import PictureDriver, pair

from restow.model import ConsumerId
from restow.picture.drawing import Moment, draw
from restow.picture.parts import change
from restow.picture.picture import Picture

ONE, THREE = ConsumerId(1), ConsumerId(3)


def both(driver: PictureDriver, base: Picture) -> tuple[Picture, Picture]:
    """The picture as a whole, and as a change of the base."""
    moment = Moment("shop", "host-7", driver.time)
    return draw(driver.state, driver.chronicle, moment), draw(driver.state, driver.chronicle, moment, base)


def test_partitions_that_stay_keep_their_rows_and_those_that_move_do_not() -> None:
    driver = pair()
    base = driver.picture()
    driver.ticks(5)
    driver.measures(a_0=60, a_1=40, a_2=40, a_3=40)
    whole, drawn = both(driver, base)
    assert drawn.partitions[A0] is base.partitions[A0]  # its new speed waits for the next whole
    assert drawn.partitions[A1] == whole.partitions[A1]
    assert drawn.partitions[A1].moving_to == THREE
    assert drawn.overview == whole.overview
    assert drawn.consumers == whole.consumers


def test_each_step_of_a_move_is_the_same_change_as_drawn_whole() -> None:
    driver = pair()
    base = driver.picture()
    driver.ticks(5)
    driver.measures(a_0=60, a_1=40, a_2=40, a_3=40)
    acts: list[Callable[[], object]] = [
        lambda: driver.is_ready(3),
        lambda: driver.answers(1),
        lambda: driver.answers(3),
        lambda: driver.ticks(1),
    ]
    for act in acts:
        act()
        whole, drawn = both(driver, base)
        assert change(base, drawn, 1, 1) == change(base, whole, 1, 1)


def test_without_a_move_the_rows_are_those_of_the_whole() -> None:
    driver = pair()
    base = driver.picture()
    driver.ticks(5)
    assert both(driver, base)[1].partitions is base.partitions


@pytest.mark.slow
def test_the_bench_runs_small() -> None:
    command = [sys.executable, "bench/picture.py", "--partitions", "40"]
    run = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[2].startswith("| 40 | ")
