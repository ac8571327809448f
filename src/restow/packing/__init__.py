"""Packing: speeds and the current assignment in, the next assignment out. Pure.

`PACKERS` has every packer under the name by which commands and settings call it; `restow` is the default.
"""

from restow.packing.plan import Packer, Plan
from restow.packing.problem import Margins, Problem
from restow.packing.published import PUBLISHED


def restow(problem: Problem) -> Plan:
    """Our own packer."""
    from restow.packing.ours import pack  # noqa: PLC0415  its compiler takes half a second to load; most commands don't pack

    return pack(problem)


def restow_polish(problem: Problem) -> Plan:
    """The same, looking harder: fewer moves for more time."""
    from restow.packing.ours import polish  # noqa: PLC0415  as above

    return polish(problem)


PACKERS: dict[str, Packer] = {**PUBLISHED, "restow": restow, "restow-polish": restow_polish}
DEFAULT_PACKER = "restow"

__all__ = ["DEFAULT_PACKER", "PACKERS", "PUBLISHED", "Margins", "Packer", "Plan", "Problem"]
