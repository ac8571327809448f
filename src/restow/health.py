"""Signs of life of a role's process, for whoever looks after it from outside: files in the directory RESTOW_SIGNS.

    alive   touched when its loop turns, at most every second: its age says whether the process hangs
    ready   there from when it does its work (a consumer: when it has said so) until it is told to end

Probes look at them where roles are pods (platform/kubernetes/pods.py). A file needs no open port, works on a machine's
own network too, and costs the loop nothing. Where no directory is given, nothing is written.
"""

import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from restow.errors import InvalidInput

TOUCH_EVERY_S: Final = 1.0


class Signs:
    def __init__(self, directory: str | None = None) -> None:
        """A process that was here before may have left its own."""
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
            with suppress(OSError):  # whoever looks will notice
                (self._directory / "alive").touch()

    def ready(self) -> None:
        if self._directory is not None:
            with suppress(OSError):
                (self._directory / "ready").touch()

    def ending(self) -> None:
        if self._directory is not None:
            with suppress(OSError):
                (self._directory / "ready").unlink(missing_ok=True)
