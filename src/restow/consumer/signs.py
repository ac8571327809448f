"""Signs of life of a consumer's process, for whoever looks after it from outside: files in a directory it is given.

    alive   touched when the loop turns, at most every second: its age says whether the process hangs
    ready   there from when it has said that it is ready until it is told to end

Probes look at them where consumers are pods (platform/kubernetes/pods.py). A file needs no open port, works on a
machine's own network too, and costs the loop nothing. Where no directory is given, nothing is written.
"""

import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from restow.errors import InvalidInput

TOUCH_EVERY_S: Final = 1.0


class Signs:
    def __init__(self, directory: Path | None) -> None:
        """A process that was here before may have left its own."""
        self._directory = directory
        self._touched_s = 0.0
        if directory is not None:
            try:
                (directory / "ready").unlink(missing_ok=True)
                (directory / "alive").touch()
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
