"""Targets of restow's packer on the published workload (uniform start), as a table that can be checked.

Each compares a figure of restow with a published packer's in the same runs. `bench/targets.py` checks them over the
whole study, the tests over a short one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from restow.study.packing import Contender, Row

MWF, BFD = Contender("mwf"), Contender("bfd")
HALF, ONE, THIRTY = (Contender("restow", worth) for worth in (0.5, 1.0, 30.0))
POLISHED = Contender("restow-polish", 30.0)
CONTENDERS: Final = (MWF, BFD, HALF, ONE, THIRTY, POLISHED)


@dataclass(frozen=True, slots=True)
class PackingTarget:
    """`measure` of `ours` is at most `factor` times the rival's, plus `points`."""

    ours: Contender
    measure: str
    factor: float
    rival: Contender
    points: float = 0.0
    strictly: bool = False

    def line(self, d: int, rows: Mapping[Contender, Row]) -> tuple[bool, str]:
        """Whether it is met, and the figures."""
        value = float(getattr(rows[self.ours], self.measure))
        bound = self.factor * float(getattr(rows[self.rival], self.measure)) + self.points
        met = value < bound if self.strictly else value <= bound
        name = {"cbs": "CBS %", "r": "R"}[self.measure]
        relation = ("below" if self.strictly else "at most") if met else ("not below" if self.strictly else "above")
        of = (
            f"{self.factor:g} × {self.rival.packer.upper()}'s" if self.factor != 1 else f"{self.rival.packer.upper()}'s"
        )
        more = f" + {self.points:g}" if self.points else ""
        who = f"{self.ours.packer}, worth {self.ours.worth:g}"
        return met, f"d={d}: {who}: {name} {value:z.2f}, {relation} {bound:.2f} ({of}{more})"


def targets(d: int) -> tuple[PackingTarget, ...]:
    return (
        PackingTarget(ONE, "cbs", 0.5, MWF),
        PackingTarget(ONE, "r", 1.0, MWF, strictly=True),
        PackingTarget(HALF, "cbs", 1.1, MWF),
        PackingTarget(HALF, "r", 0.2 if d == 5 else 0.6, MWF),
        PackingTarget(THIRTY, "cbs", 1.0, BFD, points=0.02),
        PackingTarget(THIRTY, "r", 0.8, BFD),
        PackingTarget(POLISHED, "cbs", 1.0, BFD, points=0.02),
        PackingTarget(POLISHED, "r", 0.7, BFD),
    )


def checked(d: int, rows: Mapping[Contender, Row]) -> Iterator[tuple[bool, str]]:
    """Every target whose contenders are among the rows."""
    for target in targets(d):
        if target.ours in rows and target.rival in rows:
            yield target.line(d, rows)


def misses(d: int, rows: Mapping[Contender, Row]) -> list[str]:
    return [line for met, line in checked(d, rows) if not met]
