"""Standby: what a controller knows before it is in charge, and when it takes over. Pure, as the machine is.

A starting controller reads the end of partition 0 before it fences anybody. It takes over at once if there was no
controller, or if the last one ended cleanly or is provably dead; otherwise it waits until the one in charge ends or has
been silent for `[controller] take_over_after_s`. It counts only seconds in which a sign could have reached it, so that
neither its own pause nor an outage of the brokers is held against the controller in charge.

Two controllers under a supervisor that restarts both never alternate: the one that lost the group comes back as a
standby, hears the other, and waits.
"""

from dataclasses import dataclass
from typing import Final

from restow.frozen import changed
from restow.protocol.messages.controller_events import ControllerAlive, ControllerStarted, ControllerStopped
from restow.protocol.messages.unions import OfController

ALIVE_EVERY_S: Final = 3.0
"""Between two ControllerAlive: three of them fit into the default silence limit, so that a lost second or two, or one
slow request to the platform, costs no controller its group."""
LONGEST_TICK_S: Final = 2.0
"""If more time passes between two looks, this process was paused; only this much of it counts. It is less than
ALIVE_EVERY_S: a standby that slept does not take over before it has read what came meanwhile."""


@dataclass(frozen=True)
class Standby:
    """The newest knowledge of the controller in charge."""

    take_over_after_s: float
    last: ControllerStarted | ControllerAlive | ControllerStopped | None = None
    """The last record that names its controller."""
    has_looked: bool = False
    """Whether partition 0 has been read to its end."""
    from_beginning: bool = False
    """Whether it was read from its beginning: a controller that is not on it was there long ago, or never."""
    now_s: float | None = None
    silent_s: float = 0.0
    """Seconds without a sign of life in which one could have arrived."""

    def heard(self, sign: OfController) -> "Standby":
        """`sign` is the next of the controllers' records on partition 0."""
        if isinstance(sign, (ControllerStarted, ControllerAlive, ControllerStopped)):
            return changed(self, last=sign, silent_s=0.0)
        return changed(self, silent_s=0.0) if self.silent_s else self

    def ticked(self, now_s: float, listening: bool) -> "Standby":
        """`now_s` is a monotonic clock's. `listening`: partition 0 has been read to its end, and its leader answers."""
        passed_s = 0.0 if self.now_s is None or not self.has_looked else min(now_s - self.now_s, LONGEST_TICK_S)
        silent_s = self.silent_s + (passed_s if listening else 0.0)
        return changed(self, now_s=now_s, silent_s=silent_s, has_looked=self.has_looked or listening)

    @property
    def lock(self) -> tuple[str, str] | None:
        """The platform's id and the name of the lock that the controller in charge holds; None if it said none."""
        if isinstance(self.last, ControllerStopped) or self.last is None:
            return None
        if self.last.platform is None or self.last.lock is None:
            return None
        return self.last.platform.id, self.last.lock

    def cause(self, is_dead: bool) -> str | None:
        """Why this controller takes over now, in words; None if it waits. `is_dead`: the lock of the controller in
        charge (`lock`) turned out to be free."""
        if not self.has_looked:
            return None
        if isinstance(self.last, ControllerStopped):
            return f"{self.last.controller} has ended"
        if self.last is None and self.from_beginning:
            return "no controller was in charge"
        if is_dead:
            return f"{self.in_charge} is dead"
        if self.silent_s >= self.take_over_after_s:
            return f"{self.in_charge} has been silent for {self.silent_s:.0f} s"
        return None

    @property
    def in_charge(self) -> str:
        return "the controller before" if self.last is None else self.last.controller
