"""Liveness and readiness of a role's process, derived from the age of its own loop.

The loop calls `alive` as it turns, and `ready` from the moment on when the role does its work until it is asked to end.
`/healthz` and `/readyz` (metrics/server.py) read the newest `Pulse`, a frozen value. In a pod without open ports the
same is in files, in the directory that RESTOW_SIGNS names, for probes that run a command (platform/kubernetes/pods.py):

    alive   touched as the loop turns, at most once a second; a hung process lets it grow old
    ready   exists while the role does its work
"""

import time
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from restow.errors import InvalidInput

TOUCH_EVERY_S: Final = 1.0


class Pulse(NamedTuple):
    beat_s: float
    """When the loop last turned, by the monotonic clock."""
    is_ready: bool

    @property
    def age_s(self) -> float:
        return max(0.0, time.monotonic() - self.beat_s)


class Health:
    def __init__(self, directory: str | None = None) -> None:
        """Clears what a previous process left there. Raises InvalidInput if the directory can't be written."""
        self._directory = Path(directory) if directory else None
        self._touched_s = 0.0
        self.pulse = Pulse(time.monotonic(), is_ready=False)
        """Replaced as a whole: any thread may read it."""
        if self._directory is not None:
            try:
                (self._directory / "ready").unlink(missing_ok=True)
                (self._directory / "alive").touch()
            except OSError as error:
                raise InvalidInput(
                    f"RESTOW_SIGNS={directory} can't be used: {error.strerror}; name a directory"
                ) from None

    def alive(self) -> None:
        now_s = time.monotonic()
        self.pulse = Pulse(now_s, self.pulse.is_ready)
        if self._directory is not None and now_s - self._touched_s >= TOUCH_EVERY_S:
            self._touched_s = now_s
            with suppress(OSError):  # the liveness probe will notice
                (self._directory / "alive").touch()

    def ready(self) -> None:
        self.pulse = Pulse(time.monotonic(), is_ready=True)
        if self._directory is not None:
            with suppress(OSError):
                (self._directory / "ready").touch()

    def ending(self) -> None:
        self.pulse = Pulse(time.monotonic(), is_ready=False)
        if self._directory is not None:
            with suppress(OSError):
                (self._directory / "ready").unlink(missing_ok=True)
