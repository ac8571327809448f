"""Packing: speeds and the current assignment in, the next assignment out. Pure.

`PACKERS` has every packer under the name by which commands and settings call it; `restow` is the default.
"""

from restow.model import Assignment, Capacities, ConsumerId, Speeds, TopicPartition
from restow.packing.plan import Packer, PackingPlan
from restow.packing.problem import Margins, Problem
from restow.packing.published import PUBLISHED


def restow(problem: Problem) -> PackingPlan:
    """Our own packer."""
    from restow.packing.ours import pack

    return pack(problem)


def restow_polish(problem: Problem) -> PackingPlan:
    """The same, looking harder: fewer moves for more time."""
    from restow.packing.ours import polish

    return polish(problem)


def warm_up() -> None:
    """Make restow's compiled code ready, so that no live decision waits for it. Call it as a process starts.

    It takes 0.6 s, for loading what was compiled before and is kept beside the source, in __pycache__. The first time
    on a machine, and after an update, it compiles: 31 s of one core (measured on 2 cores at 2.5 GHz). `make` does that
    when it sets up. From then on a decision about a few partitions takes a millisecond.
    """
    one, other = (TopicPartition("warm-up", number) for number in range(2))
    apart = Assignment({one: ConsumerId(1), other: ConsumerId(2)})
    overfull = Assignment({one: ConsumerId(1), other: ConsumerId(1)})
    for current, speed in ((apart, 0.25), (overfull, 0.75)):
        restow(Problem(Speeds({one: speed, other: speed}), current, Capacities(1.0)))


PACKERS: dict[str, Packer] = {**PUBLISHED, "restow": restow, "restow-polish": restow_polish}
DEFAULT_PACKER = "restow"

__all__ = ["DEFAULT_PACKER", "PACKERS", "PUBLISHED", "Margins", "Packer", "PackingPlan", "Problem", "warm_up"]
