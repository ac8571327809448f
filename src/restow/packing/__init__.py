"""Packing: speeds and the current assignment in, the next assignment out. Pure.

`PACKERS` has every packer under the name by which commands and settings call it.
"""

from restow.packing.plan import Packer, Plan
from restow.packing.problem import Margins, Problem
from restow.packing.published import PUBLISHED

PACKERS: dict[str, Packer] = {**PUBLISHED}

__all__ = ["PACKERS", "PUBLISHED", "Margins", "Packer", "Plan", "Problem"]
