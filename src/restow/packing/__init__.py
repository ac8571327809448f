"""Packing: speeds and the current assignment in, the next assignment out. Pure."""

from restow.packing.plan import Packer, Plan
from restow.packing.problem import Margins, Problem

__all__ = ["Margins", "Packer", "Plan", "Problem"]
