"""Schedules acts of random kinds at random times. crises.py and orders.py draw what they do with it."""

import random
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from restow.simulator.faults.plan import FIRST_S
from restow.simulator.scenario import Level

if TYPE_CHECKING:
    from restow.simulator.world import World

Kind = TypeVar("Kind", bound=StrEnum)


def schedule_some(
    world: "World",
    rng: random.Random,
    active: float,
    every_s: Mapping[Level, float],
    kinds: Sequence[Kind],
    act: Callable[[Kind], None],
) -> bool:
    """Schedules acts before the quiet period, in the share `active` of the runs with faults. Returns whether this run
    is one of them."""
    faults = world.scenario.faults
    if faults is Level.NONE or rng.random() >= active:
        return False
    end_s = world.scenario.duration_s - world.scenario.quiet_s
    for _ in range(max(1, int((end_s - FIRST_S) / every_s[faults]))):
        time_s = rng.uniform(FIRST_S, end_s - 1)
        world.agenda.at(time_s, partial(act, rng.choice(kinds)))
    return True
