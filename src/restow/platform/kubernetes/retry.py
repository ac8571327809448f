"""Which troubles with an API server are worth another try, when, and for how long. Requests and watches ask here."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from restow.platform.interface import PlatformRefusal
from restow.platform.kubernetes.api import Answered, Trouble, Unreachable

PATIENCE_S: Final = 2.0
"""So long a wish is tried again. Not longer: a controller that was replaced meanwhile has no more wishes, and the one
that was not tries again by itself in a few seconds."""
SHORTEST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 10.0
PASSING: Final = (429, 500, 502, 503, 504)
"""Throttled, or a server that is starting, ending or busy."""
EXPIRED: Final = 410
CONFLICT: Final = 409
NOT_FOUND: Final = 404

T = TypeVar("T")


def is_passing(trouble: Trouble) -> bool:
    return isinstance(trouble, Unreachable) or (isinstance(trouble, Answered) and trouble.code in PASSING)


def pause_s(tries: int, trouble: Trouble) -> float:
    """Grows with the tries; what the server asks for is waited in any case."""
    grown_s = min(SHORTEST_PAUSE_S * 2.0 ** min(tries, 20), LONGEST_PAUSE_S)
    return max(grown_s, trouble.retry_after_s or 0.0)


def patiently(act: Callable[[], T], until_s: float) -> T:
    """Tries while the trouble may pass and, by the clock that only goes forward, it is early enough; then refuses."""
    tries = 0
    while True:
        try:
            return act()
        except Trouble as trouble:
            wait_s = pause_s(tries, trouble)
            if not is_passing(trouble):
                raise
            if time.monotonic() + wait_s > until_s:
                raise PlatformRefusal(str(trouble)) from None
            tries += 1
            time.sleep(wait_s)
