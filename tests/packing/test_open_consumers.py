"""The fitting rules: each fast structure finds what a linear search would."""

from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from restow.model import ConsumerId
from restow.packing.open_consumers import BestFit, FirstFit, NextFit, OpenConsumers, WorstFit

Rooms = dict[ConsumerId, float]
"""Room by consumer, in the order of opening; min and max take the first of equals."""

LINEAR: dict[type[OpenConsumers], Callable[[Rooms, list[ConsumerId]], ConsumerId | None]] = {
    NextFit: lambda rooms, fitting: next((last for last in list(rooms)[-1:] if last in fitting), None),
    FirstFit: lambda _, fitting: next(iter(fitting), None),
    WorstFit: lambda rooms, fitting: max(fitting, key=lambda consumer: rooms[consumer], default=None),
    BestFit: lambda rooms, fitting: min(fitting, key=lambda consumer: rooms[consumer], default=None),
}


@pytest.mark.parametrize("structure", list(LINEAR))
@settings(deadline=None)
@given(speeds=st.lists(st.integers(0, 10), max_size=200), numbers=st.permutations(range(1, 201)))
@example(speeds=[10] * 130 + [4, 6] * 35, numbers=list(range(200, 0, -1)))
def test_a_place_is_the_one_found_by_looking_at_every_consumer(
    structure: type[OpenConsumers], speeds: list[int], numbers: list[int]
) -> None:
    consumers, rooms = structure(), Rooms()
    for speed, number in zip(speeds, numbers, strict=False):
        wanted = LINEAR[structure](rooms, [consumer for consumer, room in rooms.items() if room >= speed])
        assert consumers.place(speed, speed) == wanted
        if wanted is None:
            consumers.open(ConsumerId(number), 10 - speed)
            rooms[ConsumerId(number)] = 10 - speed
        else:
            rooms[wanted] -= speed
