"""Moves and pauses, as the controller's event log has them."""

from tests.support.controller_driver import A1, Told

from restow.demo.pauses import Moves, moves_in


def test_a_move_is_counted_and_its_pause_is_from_the_stop_to_the_start_elsewhere() -> None:
    told = Told()
    told.starts()
    told.lists()
    told.measures(a_0=40, a_1=40)
    told.is_ready(1)
    told.settles()
    assert moves_in(told.log) == Moves(0, ())
    told.measures(a_0=60, a_1=40)
    told.is_ready(2)
    told.ticks(1.0)
    told.answers(1)
    told.ticks(2.5)
    told.answers(2)
    assert told.held[2] == (A1,)
    assert moves_in(told.log) == Moves(1, (2.5,))
