"""The rule of Flink's autoscaler (flink-kubernetes-operator) for a source that reads Kafka.

The wanted processing rate is what comes in at the target utilisation, what a restart leaves behind, and the lag, the
last two spread over the catch-up time. It scales when the present rate is outside the bounds that the utilisation's
boundary gives. After a scaling it waits for the stabilisation interval. It shrinks only after it wanted to for the
whole scale-down interval, and then to the largest size it wanted in it, by at most 60 % at once."""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from restow.rivals.keda import rounded_up

MOST_SHRINKING: Final = 0.6
"""scale-down.max-factor."""
RESTART_S: Final = 300.0
"""restart.time, which the autoscaler expects until it has measured one."""


@dataclass(slots=True)
class FlinkAutoscaler:
    capacity: float
    """Of one consumer, in the unit of the rates: the true processing rate of one subtask."""
    utilisation: float = 0.7
    boundary: float = 0.3
    stabilisation_s: float = 300.0
    catch_up_s: float = 1800.0
    scale_down_interval_s: float = 3600.0
    window_s: float = 900.0
    """metrics.window, over which the rate of what comes in is averaged."""
    _rates: deque[tuple[float, float]] = field(default_factory=deque)
    _scaled_s: float = float("-inf")
    _smaller: deque[tuple[float, int]] = field(default_factory=deque)
    """When it wanted to shrink, and to what, without an interruption."""

    def parallelism(self, now_s: float, rate: float, lag: float, current: int) -> int:
        self._rates.append((now_s, rate))
        while self._rates[0][0] < now_s - self.window_s:
            self._rates.popleft()
        mean = sum(each for _, each in self._rates) / len(self._rates)
        wanted = self._wanted(mean, lag, current)
        if now_s - self._scaled_s < self.stabilisation_s:
            return current
        if wanted < current:
            wanted = self._after_the_interval(now_s, wanted, current)
        else:
            self._smaller.clear()
        if wanted != current:
            self._scaled_s = now_s
            self._smaller.clear()
        return wanted

    def _wanted(self, rate: float, lag: float, current: int) -> int:
        present = current * self.capacity
        if self._target(rate, lag, self.utilisation + self.boundary, 0.0) <= present and present <= self._target(
            rate, lag, self.utilisation - self.boundary, RESTART_S
        ):
            return current
        factor = self._target(rate, lag, self.utilisation, RESTART_S) / present
        return max(1, rounded_up(current * max(factor, 1 - MOST_SHRINKING)))

    def _target(self, rate: float, lag: float, utilisation: float, restart_s: float) -> float:
        return lag / self.catch_up_s + rate * restart_s / self.catch_up_s + rate / utilisation

    def _after_the_interval(self, now_s: float, wanted: int, current: int) -> int:
        self._smaller.append((now_s, wanted))
        if now_s - self._smaller[0][0] < self.scale_down_interval_s:
            return current
        while self._smaller[0][0] < now_s - self.scale_down_interval_s:
            self._smaller.popleft()
        return max(size for _, size in self._smaller)
