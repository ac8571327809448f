"""Stop signals: SIGINT and SIGTERM both ask for a clean end after the work in progress.

A handler that raised an exception would leave that work half done, or look like its failure.
"""

import signal
import threading
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Is set by either signal, even if the shell had SIGINT ignored, as it does for `command &`."""

    def __init__(self) -> None:
        self._requested = threading.Event()
        for number in STOP_SIGNALS:
            signal.signal(number, self._request)

    def wait(self, seconds: float) -> bool:
        """Returns whether a stop signal came, at the latest after `seconds`."""
        return self._requested.wait(seconds)

    def _request(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002  as signals call it
        self._requested.set()


def interrupt_on_stop_signals() -> None:
    """Makes both signals a KeyboardInterrupt, for commands that clean up in `finally`."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.default_int_handler)
