"""Kubernetes' HorizontalPodAutoscaler, through which KEDA scales: tolerance, stabilisation and the speed of growth.

It wants metric / target replicas, rounded up, and leaves the number alone while that differs by at most the tolerance.
It shrinks only to the highest number that it wanted during the stabilisation window, and grows by four replicas or to
twice their number in 15 s, whichever is more.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from restow.rivals.keda import rounded_up

GROWTH_EVERY_S: Final = 15.0
GROWTH_REPLICAS: Final = 4
"""Kubernetes' defaults for scaling up: 4 pods or 100 % within 15 s."""


@dataclass(slots=True)
class HorizontalPodAutoscaler:
    tolerance: float = 0.1
    stabilisation_s: float = 300.0
    """Of scaling down. Scaling up has none by default."""
    least: int = 1
    _wanted: deque[tuple[float, int]] = field(default_factory=deque)

    def replicas(self, now_s: float, metric: float, target: float, current: int, every_s: float) -> int:
        """`metric` is the sum over the group, `target` its share for each replica."""
        ratio = metric / (target * current) if current else 0.0
        wanted = rounded_up(metric / target) if not current or abs(1 - ratio) > self.tolerance else current
        self._wanted.append((now_s, wanted))
        while self._wanted[0][0] < now_s - self.stabilisation_s:
            self._wanted.popleft()
        if wanted > current:
            steps = max(1, round(every_s / GROWTH_EVERY_S))
            most = current
            for _ in range(steps):
                most = max(most + GROWTH_REPLICAS, 2 * most)
            return max(self.least, min(wanted, most))
        return max(self.least, min(current, max(number for _, number in self._wanted)))
