"""The event queue, in simulated seconds. Everything in the world acts from here, in one order, so that a seed always
gives the same run.
"""

import heapq
from collections.abc import Callable

Action = Callable[[], None]


class Agenda:
    def __init__(self) -> None:
        self.now_s = 0.0
        self._heap: list[tuple[float, int, Action]] = []
        self._count = 0

    def at(self, time_s: float, action: Action) -> None:
        """Schedules an action for this time, or for now if it has passed. Ties run in the order scheduled."""
        self._count += 1
        heapq.heappush(self._heap, (max(time_s, self.now_s), self._count, action))

    def after(self, delay_s: float, action: Action) -> None:
        self.at(self.now_s + delay_s, action)

    def every(self, period_s: float, action: Action) -> None:
        def again() -> None:
            action()
            self.after(period_s, again)

        self.after(period_s, again)

    def run_until(self, end_s: float) -> None:
        heap = self._heap
        while heap and heap[0][0] <= end_s:
            self.now_s, _, action = heapq.heappop(heap)
            action()
        self.now_s = end_s
