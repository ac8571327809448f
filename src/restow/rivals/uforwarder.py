"""The rule of uForwarder's autoscaler: up by the median of five minutes, down by the 99th percentile of a day.

Both windows tumble. A sample is what the load needs, in workers. When a window is full, its percentile is taken if it
is 1.2 to 2 times the present scale (up), or 0.5 to 0.8 times (down); samples beyond those factors count as the factor.
After a change both windows begin anew."""

import math
from dataclasses import dataclass, field
from typing import Final

from restow.rivals.keda import rounded_up

UP: Final = (1.2, 2.0)
DOWN: Final = (0.5, 0.8)
LEAST_SAMPLES: Final = 10


@dataclass(slots=True)
class _Window:
    seconds: float
    percentile: float
    accepted: tuple[float, float]
    begun_s: float = -math.inf
    samples: list[float] = field(default_factory=list)

    def proposal(self, now_s: float, sample: float, scale: float) -> float | None:
        """Returns the new scale when the window is full and it is far enough from the present one."""
        least, most = self.accepted
        bounds = (scale, scale * most) if least > 1 else (scale * least, scale)
        self.samples.append(min(max(sample, bounds[0]), bounds[1]))
        if now_s - self.begun_s <= self.seconds or len(self.samples) < LEAST_SAMPLES:
            return None
        found = sorted(self.samples)[min(len(self.samples) - 1, int(self.percentile * len(self.samples)))]
        self.begin(now_s)
        return found if scale * least <= found <= scale * most else None

    def begin(self, now_s: float) -> None:
        self.begun_s, self.samples = now_s, []


@dataclass(slots=True)
class UForwarder:
    rate_per_worker: float
    """bytesPerSecPerWorker: what one worker is sized for."""
    up_window_s: float = 300.0
    down_window_s: float = 86_400.0
    _scale: float = 0.0
    _windows: tuple[_Window, ...] = ()

    def workers(self, now_s: float, rate: float, current: int) -> int:
        if not self._windows:
            self._scale = float(current)
            self._windows = (_Window(self.up_window_s, 0.5, UP), _Window(self.down_window_s, 0.99, DOWN))
            for window in self._windows:
                window.begin(now_s)
        for window in self._windows:
            found = window.proposal(now_s, rate / self.rate_per_worker, self._scale)
            if found is not None:
                self._scale = found
                for each in self._windows:
                    each.begin(now_s)
                break
        return max(1, rounded_up(self._scale))
