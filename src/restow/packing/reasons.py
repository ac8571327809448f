"""Why a plan does what it does: facts with their numbers, put into words when somebody asks.

`explain` reads them off the difference between what is and what is planned, so they hold for every packer and can't
drift from what it did. `restow plan`, the controller's log and the dashboard show them.
"""

from dataclasses import dataclass

from restow.model import Assignment
from restow.packing.problem import Problem


@dataclass(frozen=True, slots=True)
class Reason:
    words: str


def explain(problem: Problem, following: Assignment) -> tuple[Reason, ...]:
    return ()
