"""Moves and pauses, as the controller's event log has them."""

from tests.support.controller_driver import A1, Driver

from restow.controller.moves import Moves
from restow.demo.pauses import moves_in


def test_a_move_is_counted_and_its_pause_is_from_the_stop_to_the_start_elsewhere() -> None:
    driver = Driver()
    driver.starts()
    driver.lists()
    driver.measures(a_0=40, a_1=40)
    driver.is_ready(1)
    driver.settles()
    assert moves_in(driver.log) == Moves(0, ())
    driver.measures(a_0=60, a_1=40)
    driver.is_ready(2)
    driver.ticks(1.0)
    driver.answers(1)
    driver.ticks(2.5)
    driver.answers(2)
    assert driver.held[2] == (A1,)
    assert moves_in(driver.log) == Moves(1, (2.5,))
