"""Liveness and readiness of a role's process, as files in the directory that RESTOW_SIGNS names.

    alive   touched as the main loop turns, at most once a second; a hung process lets it grow old
    ready   exists while the role does its work: a consumer's from its ConsumerReady until it is asked to end

Kubernetes probes read them (platform/kubernetes/pods.py). Files need no open port, which would have to be unique where
pods share their node's network, and cost the loop next to nothing. Without RESTOW_SIGNS nothing is written.
"""

import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from restow.errors import InvalidInput

TOUCH_EVERY_S: Final = 1.0


class Health:
    def __init__(self, directory: str | None = None) -> None:
        """Clears what a previous process left there. Raises InvalidInput if the directory can't be written."""
        self._directory = Path(directory) if directory else None
        self._touched_s = 0.0
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
        if self._directory is not None and now_s - self._touched_s >= TOUCH_EVERY_S:
            self._touched_s = now_s
            with suppress(OSError):  # the liveness probe will notice
                (self._directory / "alive").touch()

    def ready(self) -> None:
        if self._directory is not None:
            with suppress(OSError):
                (self._directory / "ready").touch()

    def ending(self) -> None:
        if self._directory is not None:
            with suppress(OSError):
                (self._directory / "ready").unlink(missing_ok=True)
