"""Says what a long wait is for: once after 2 s, and how long it took at its end. On a terminal the seconds are shown.

    INFO    consumer-1  waiting for Spark to start
    INFO    consumer-1  waited 9 s for Spark to start

A wait that is shorter leaves no trace, so that any wait that may be long can be wrapped.
"""

import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

log = logging.getLogger(__name__)

QUIET_S: Final = 2.0
"""People wonder after about this long."""
AGAIN_S: Final = 30.0
"""Without a terminal, a line this often: a log that stands still looks like a process that hangs."""
REDRAW_S: Final = 1.0


@contextmanager
def waiting(for_what: str) -> Iterator[None]:
    """`for_what` completes "waiting for …": "Spark to start"."""
    begun_s, is_over = time.monotonic(), threading.Event()
    teller = threading.Thread(target=_tell, args=(for_what, begun_s, is_over), name="waiting", daemon=True)
    teller.start()
    try:
        yield
    finally:
        is_over.set()
        teller.join()


def _tell(for_what: str, begun_s: float, is_over: threading.Event) -> None:
    if is_over.wait(QUIET_S):
        return
    log.info("waiting for %s", for_what)
    if sys.stderr.isatty():
        _draw(begun_s, is_over)
    else:
        while not is_over.wait(AGAIN_S):
            log.info("still waiting for %s, for %.0f s now", for_what, time.monotonic() - begun_s)
    log.info("waited %.0f s for %s", time.monotonic() - begun_s, for_what)


def _draw(begun_s: float, is_over: threading.Event) -> None:
    """Leaves the cursor at the beginning, so that a log line of another thread writes over the seconds."""
    while not is_over.wait(REDRAW_S):
        sys.stderr.write(f"  {time.monotonic() - begun_s:.0f} s\r")
        sys.stderr.flush()
