"""Packing: speeds and the current assignment in, the next assignment out. Pure.

problem.py         a packer's input: speeds, assignment, capacities, worth, margins
plan.py            a packer's answer, and what follows from it
reasons.py         why a plan changes what it changes
published.py       the twelve published packers
open_consumers.py  their fitting rules: next, first, worst and best fit
ours.py            restow's packer
ship.py            a problem as arrays
stowage.py         where each partition is, and what that costs, as arrays for compiled code
room.py            finds consumers by their free room
moving.py          moves partitions in a stowage and takes moves back
placing.py         places one partition where it costs least
search.py          builds a stowage
exchange.py        improves a stowage by exact exchanges between a few consumers
compiler.py        compiles these with numba and caches the result

`PACKERS` has every packer by the name used in commands and settings; `restow` is the default.
"""

from collections.abc import Callable

from restow.model import Assignment, Capacities, ConsumerId, Speeds, TopicPartition
from restow.packing.plan import Packer, PackingPlan
from restow.packing.problem import Margins, Problem
from restow.packing.published import PUBLISHED


def restow(problem: Problem) -> PackingPlan:
    """restow's packer."""
    from restow.packing.ours import pack

    return pack(problem)


def restow_polish(problem: Problem) -> PackingPlan:
    """restow's packer with more effort: fewer moves, more time."""
    from restow.packing.ours import polish

    return polish(problem)


def restow_as_if_large(problem: Problem) -> PackingPlan:
    """As a group of thousands of partitions is packed: by functions that a small one does not need."""
    from restow.packing.ours import AS_IF_LARGE, pack

    return pack(problem, AS_IF_LARGE)


def warm_up(on_compile: Callable[[], None] = lambda: None) -> None:
    """Loads restow's compiled code, so that no live decision waits for it. Call it as a process starts. `on_compile` is
    called if the code has to be compiled.

    Loading takes 0.6 s, from a cache in __pycache__ beside the source. On a new machine or after an update it compiles
    first: 31 s of one core (measured on 2 cores at 2.5 GHz). `make` does that during set-up. After that, a decision
    about a few partitions takes a millisecond.
    """
    one, other = (TopicPartition("warm-up", number) for number in range(2))
    apart = Assignment({one: ConsumerId(1), other: ConsumerId(2)})
    overfull = Assignment({one: ConsumerId(1), other: ConsumerId(1)})
    from restow.packing.compiler import on_compiling

    with on_compiling(on_compile):
        for current, speed in ((apart, 0.25), (overfull, 0.75)):
            problem = Problem(Speeds({one: speed, other: speed}), current, Capacities(1.0))
            restow(problem)
        restow_as_if_large(problem)


PACKERS: dict[str, Packer] = {**PUBLISHED, "restow": restow, "restow-polish": restow_polish}
DEFAULT_PACKER = "restow"

__all__ = ["DEFAULT_PACKER", "PACKERS", "PUBLISHED", "Margins", "Packer", "PackingPlan", "Problem", "warm_up"]
