"""Rides out brokers that are away: repeats a request with backoff, and logs an outage once and its end once.

The processes of the controller and the consumers send their requests through it, at their start and later. A process
that starts before its brokers waits for them, as one does that was running when they went: for brokers that don't
answer, whose host name is unknown yet, that have no controller or are too few for a topic's replicas. The caller names
the errors that end it. At the start these are rejected credentials and missing rights (NotAllowed): only a person can
mend them, and should see at once that they are wrong.
"""

import logging
from collections.abc import Callable
from typing import Final, TypeVar

from restow.backoff import Backoff
from restow.errors import InvalidInput, RestowError

log = logging.getLogger(__name__)

BACKOFF: Final = Backoff(first_s=0.5, longest_s=30.0)

T = TypeVar("T")
Pause = Callable[[float, RestowError], None]
"""Waits this many seconds after this error. May raise, to give up."""


class Outages:
    def __init__(self, pause: Pause) -> None:
        self._pause = pause

    def until_answered(self, request: Callable[[], T], final: tuple[type[RestowError], ...] = ()) -> T:
        """Returns the answer. Raises InvalidInput, the errors in `final`, and what `pause` raises."""
        failures, logged = 0, set[type[RestowError]]()
        while True:
            try:
                answer = request()
            except RestowError as error:
                if isinstance(error, (InvalidInput, *final)):
                    raise
                failures += 1
                if type(error) not in logged:  # brokers that come up refuse for other reasons than lost ones
                    logged.add(type(error))
                    log.warning("%s; retrying", error)
                self._pause(BACKOFF.pause_s(failures), error)
            else:
                if failures:
                    log.info("the brokers answer again")
                return answer
