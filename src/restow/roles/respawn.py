"""Starts the consumer of a container again at once when it crashes, in the same container.

The kubelet looks for ended containers once a second. A light consumer is ready after a fraction of that, so that most
of the pause of its partitions would be the kubelet's. So the container's first process is a small parent, which forks
the consumer, and forks it again when a signal has killed it. A consumer that ends by itself, or is killed soon after
its start, ends the container with it: then Kubernetes restarts it, with backoff, and shows why. `restow consumer` calls
this. A consumer on Spark has no such parent: it needs seconds to start, and others take over as soon as the kubelet
shows the crash.
"""

import logging
import os
import signal
import time
from contextlib import suppress
from typing import Final

from restow.roles.child import how_it_ended

log = logging.getLogger(__name__)

CONTAINERS_FIRST: Final = 1
"""The process id of a container's first process, inside of it."""
STABLE_AFTER_S: Final = 10.0
"""A consumer that crashes sooner is left to Kubernetes: a crash may repeat itself at once."""
ENDING: Final = (signal.SIGTERM, signal.SIGINT)
FETCHED: Final = (signal.SIGCHLD, *ENDING)


def is_first_of_container() -> bool:
    return os.getpid() == CONTAINERS_FIRST


def respawning(stable_after_s: float = STABLE_AFTER_S) -> int | None:
    """Forks, and again whenever a signal has killed the child. Returns None in the child. In the parent, returns the
    exit code of the last child when that is not started again. Call it before there are other threads."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, FETCHED)
    while True:
        begun_s = time.monotonic()
        child = os.fork()
        if child == 0:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            return None
        status, was_asked = _wait_for(child)
        ended = os.waitstatus_to_exitcode(status)
        code = ended if ended >= 0 else 128 - ended  # as a shell says that a signal ended it
        if was_asked or ended >= 0 or time.monotonic() - begun_s < stable_after_s:
            return code
        log.warning("the consumer %s; starting it again", how_it_ended(code))
        if is_first_of_container():
            with suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)  # what it had started: no part of a crashed consumer goes on


def _wait_for(child: int) -> tuple[int, bool]:
    """The wait status of the child, and whether it was asked to end. Reaps what others leave behind."""
    was_asked = False
    while True:
        while (ended := _reaped()) is not None:
            process, status = ended
            if process == child:
                return status, was_asked
        received = signal.sigwait(FETCHED)
        if received in ENDING:
            was_asked = True
            os.kill(child, signal.SIGTERM)


def _reaped() -> tuple[int, int] | None:
    """An ended child, or None."""
    try:
        process, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (process, status) if process else None
