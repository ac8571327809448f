"""Being told to stop: Ctrl-C and SIGTERM mean the same, and what is under way is finished first.

A signal that raised in the middle of things would leave them half done, or be taken for their failure.
"""

import signal
import threading
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Set by either signal from when it is made on. Also where the shell had Ctrl-C ignored, as for `command &`."""

    def __init__(self) -> None:
        self._told = threading.Event()
        for number in STOP_SIGNALS:
            signal.signal(number, self._tell)

    def wait(self, seconds: float) -> bool:
        """Whether it was told to stop, at the latest after so many seconds."""
        return self._told.wait(seconds)

    def _tell(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002  as signals call it
        self._told.set()


def interrupt_on_stop_signals() -> None:
    """For what must be left at once and cleans up behind itself: either signal is a KeyboardInterrupt."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.default_int_handler)
