"""The checker of schedules: while a window is open, by the controller's own wall clock, its hold and its limits count.

The windows are those of the scenario, not those that the controller believes to be open. Limits on the service topic
count before a window's, and are not checked here.
"""

import math
from collections.abc import Callable, Sequence

from restow.controller.events import Window
from restow.controller.schedules import open_at
from restow.controller.state import State


class OnSchedule:
    def __init__(self, report: Callable[[int, str], None], windows: Sequence[Window]) -> None:
        self._report, self._windows = report, tuple(windows)
        self._looked_s = -math.inf
        self._open: tuple[Window, ...] = ()
        """The windows that are open at `_looked_s`: a controller makes several steps in a second of its clock."""

    def stepped(self, after: State) -> None:
        """A controller in charge has made a step."""
        if not self._windows or after.epoch is None or after.utc_s is None:
            return
        if after.utc_s != self._looked_s:
            self._looked_s, self._open = after.utc_s, open_at(self._windows, after.utc_s)
        now = self._open
        if any(window.hold for window in now) and not after.only_recovers:
            self._report(4, "a window is open in which the group is held, and the controller is not")
        if after.settings.most_consumers is not None or after.settings.least_consumers is not None:
            return
        most = min((window.most for window in now if window.most is not None), default=None)
        least = max((window.least for window in now if window.least is not None), default=0)
        if most is not None and after.most_consumers != most:
            self._report(4, f"a window allows {most} consumers, and the controller {after.most_consumers}")
        if after.least_consumers < (least if most is None else min(least, most)):
            self._report(4, f"a window wants {least} consumers, and the controller {after.least_consumers}")
