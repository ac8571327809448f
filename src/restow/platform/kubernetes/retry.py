"""Which errors of the API server are retried, when, and for how long. Requests and watches use it."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from restow.backoff import Backoff
from restow.platform.interface import PlatformRefusal
from restow.platform.kubernetes.api import ApiError, Rejected, Unreachable

RETRY_FOR_S: Final = 2.0
"""How long a request is retried. Not longer: a controller that has been replaced must stop, and an active controller
retries by itself a few seconds later."""
BACKOFF: Final = Backoff(first_s=0.1, longest_s=10.0)
TRANSIENT: Final = (429, 500, 502, 503, 504)
"""Throttled, or a server that is starting, ending or busy."""
EXPIRED: Final = 410
CONFLICT: Final = 409
NOT_FOUND: Final = 404

T = TypeVar("T")


def is_transient(error: ApiError) -> bool:
    return isinstance(error, Unreachable) or (isinstance(error, Rejected) and error.code in TRANSIENT)


def pause_s(failures: int, error: ApiError) -> float:
    """Exponential backoff, and never less than the server's Retry-After."""
    return max(BACKOFF.pause_s(failures), error.retry_after_s or 0.0)


def retrying(act: Callable[[], T], until_s: float) -> T:
    """Calls `act` until it succeeds. Raises PlatformRefusal if a transient error lasts until then (by the monotonic
    clock), and any other ApiError at once."""
    failures = 0
    while True:
        try:
            return act()
        except ApiError as error:
            failures += 1
            wait_s = pause_s(failures, error)
            if not is_transient(error):
                raise
            if time.monotonic() + wait_s > until_s:
                raise PlatformRefusal(str(error)) from None
            time.sleep(wait_s)
