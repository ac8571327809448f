"""Distinguishes a stalled cycle from a slow one. Pure; roles/consumer.py keeps one `Watchdog`.

What is slow is learned from the consumer's own cycles. A stalled cycle is reported, and the process writes a thread
dump; if the stall goes on, the process ends, and the platform starts it again.
"""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

STALLED_AFTER_S: Final = 30.0
STALLED_TIMES: Final = 5.0
"""A cycle is stalled once it takes this many times as long as the longest of the last ones, and STALLED_AFTER_S."""
HOPELESS_AFTER_S: Final = 180.0
HOPELESS_TIMES: Final = 30.0
"""The same for a cycle that won't end."""
FIRST_HOPELESS_AFTER_S: Final = 1800.0
"""Before the process has stored anything its cycles are unknown: a transform may be that slow, and a restart would only
begin the same cycle again."""
FADING: Final = 0.9
"""The longest cycle counts less with each later cycle."""
MOST_BETWEEN_S: Final = 2.0
"""Counted between two looks. The process looks several times a second: a longer time is one in which it was suspended,
or had no core."""


class Verdict(Enum):
    FINE = "fine"
    STALLED = "stalled"
    HOPELESS = "hopeless"


@dataclass(frozen=True, slots=True)
class Watchdog:
    expected_s: float
    """The longest that a cycle should take, by the settings."""
    longest_s: float = 0.0
    """Of the last cycles, faded."""
    has_stored: bool = False
    running_s: float = 0.0
    """How long the running cycle takes so far."""
    looked_s: float = 0.0

    def begun(self, now_s: float) -> "Watchdog":
        return replace(self, running_s=0.0, looked_s=now_s)

    def looked(self, now_s: float) -> "Watchdog":
        passed_s = min(max(0.0, now_s - self.looked_s), MOST_BETWEEN_S)
        return replace(self, running_s=self.running_s + passed_s, looked_s=now_s)

    def ended(self, has_stored: bool) -> "Watchdog":
        longest_s = max(self.running_s, FADING * self.longest_s)
        return replace(self, longest_s=longest_s, has_stored=self.has_stored or has_stored, running_s=0.0)

    @property
    def verdict(self) -> Verdict:
        usual_s = max(self.expected_s if not self.has_stored else 0.0, self.longest_s)
        hopeless_s = max(HOPELESS_AFTER_S if self.has_stored else FIRST_HOPELESS_AFTER_S, HOPELESS_TIMES * usual_s)
        if self.running_s > hopeless_s:
            return Verdict.HOPELESS
        return Verdict.STALLED if self.running_s > max(STALLED_AFTER_S, STALLED_TIMES * usual_s) else Verdict.FINE
