"""Stop signals: SIGINT and SIGTERM both ask for a clean end after the work in progress.

A handler that raised an exception would leave that work half done, or look like its failure. `Stop.raising` is for work
that may be left half done.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(BaseException):
    """A stop signal came within `Stop.raising`. Not an Exception: no library may take it for a failure."""


class Stop:
    """Is set by either signal, even if the shell had SIGINT ignored, as it does for `command &`."""

    def __init__(self) -> None:
        self._requested = threading.Event()
        self._is_raising = False
        for number in STOP_SIGNALS:
            signal.signal(number, self._request)

    def wait(self, seconds: float) -> bool:
        """Returns whether a stop signal came, at the latest after `seconds`."""
        return self._requested.wait(seconds)

    @contextmanager
    def raising(self) -> Iterator[None]:
        """Within the block, in the main thread, a stop signal raises Stopped at once."""
        self._is_raising = True
        try:
            if self._requested.is_set():
                raise Stopped
            yield
        finally:
            self._is_raising = False

    def _request(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002  as signals call it
        self._requested.set()
        if self._is_raising:
            raise Stopped


def interrupt_on_stop_signals() -> None:
    """Makes both signals a KeyboardInterrupt, for commands that clean up in `finally`."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.default_int_handler)
