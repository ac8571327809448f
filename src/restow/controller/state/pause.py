"""The pause after a failure, and after a refusal."""

from dataclasses import dataclass
from typing import Final

from restow.backoff import Backoff

LONGEST_PAUSE: Final = 20
"""A pause after failures grows to this many times the first."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Exponential backoff: no new attempt before `until_s`."""

    failures: int = 0
    until_s: float = 0.0

    def after_failure(self, first_s: float, now_s: float) -> "Pause":
        failures = self.failures + 1
        return Pause(failures, now_s + Backoff(first_s, LONGEST_PAUSE * first_s).pause_s(failures))
