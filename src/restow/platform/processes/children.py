"""What a supervisor does to the processes below it: starts the consumer, finds all that it started, ends every one.

A consumer runs as it would in a container: when its own process ends, for whatever reason, all processes that it
started are killed, because the next one on this volume must be alone. SIGTERM goes to the consumer's own process only:
it may need the others to finish the work in flight.
"""

import ctypes
import math
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NoReturn

from restow.backoff import Backoff
from restow.platform.processes.files import MARK, DesiredState
from restow.platform.processes.linux import Process, descendants, marked, send
from restow.platform.processes.logs import log_of

# Of Linux's prctl.
SET_PARENT_DEATH_SIGNAL, SET_CHILD_SUBREAPER = 1, 36

KILL_AGAIN: Final = Backoff(first_s=0.01, longest_s=1.0)
ENDED_CHECK_S: Final = 0.1
CANT_BE_STARTED: Final = 127
"""The exit code that shells use for it."""


def adopt_orphans() -> None:
    """Makes this process the parent of every orphan below it, in place of init (PR_SET_CHILD_SUBREAPER)."""
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1)


def start(desired: DesiredState, environment: Mapping[str, str], number: int) -> int:
    """Starts the consumer, its output going to its log; returns its pid. The kernel kills it if this process dies."""
    supervisor = os.getpid()
    prctl = ctypes.CDLL(None).prctl  # looked up before the fork: as little as possible should happen after it
    log = os.open(log_of(Path(desired.volume)), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    null = os.open(os.devnull, os.O_RDONLY)
    try:
        child = os.fork()
        if child == 0:
            prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
            if os.getppid() != supervisor:  # the supervisor died before prctl took effect
                os._exit(1)
            _become(desired, environment, number, null, log)
    finally:
        os.close(null)
        os.close(log)
    return child


def _become(desired: DesiredState, environment: Mapping[str, str], number: int, stdin: int, log: int) -> NoReturn:
    try:
        for target, source in enumerate((stdin, log, log)):
            os.dup2(source, target)
        os.chdir(desired.directory)
        if desired.cores is not None:
            os.sched_setaffinity(0, share_of_cores(os.sched_getaffinity(0), desired.cores, number))
        # The signals that a supervisor ignores or blocks must work in the consumer.
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(ignored, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execvpe(desired.command[0], desired.command, environment)
    except BaseException as error:  # noqa: BLE001  no code of the supervisor may go on in the child
        os.write(2, f"{desired.command[0]} can't be started in {desired.directory}: {error}\n".encode())
    finally:
        os._exit(CANT_BE_STARTED)


def share_of_cores(available: set[int], cores: float, number: int) -> set[int]:
    """`cores` rounded up to whole cores, in turn for consumers 1, 2, 3…; all cores if there aren't more."""
    usable, wanted = sorted(available), math.ceil(cores)
    if wanted >= len(usable):
        return available
    first = (number - 1) * wanted
    return {usable[(first + offset) % len(usable)] for offset in range(wanted)}


def others_of(home: Path) -> tuple[Process, ...]:
    """All living processes of the consumer with this home, except this one."""
    found = {*descendants(os.getpid()), *marked(MARK, str(home))}
    return tuple(sorted(known for known in found if known.pid != os.getpid()))


def kill_others(home: Path) -> None:
    """Kills them until none is left. Waits for processes that the kernel can't end yet (on a disk that hangs)."""
    attempts = 0
    while others := others_of(home):
        for known in others:
            send(known, signal.SIGKILL)
        attempts += 1
        time.sleep(KILL_AGAIN.pause_s(attempts))
        reap()


def end_others(home: Path, grace_s: float) -> None:
    """SIGTERM to all of them, and SIGKILL after the grace time."""
    deadline_s = time.monotonic() + grace_s
    others = others_of(home)
    for known in others:
        send(known, signal.SIGTERM)
    while others and time.monotonic() < deadline_s:
        time.sleep(min(ENDED_CHECK_S, grace_s))
        reap()
        others = others_of(home)
    kill_others(home)


def reap() -> dict[int, int]:
    """The children that have ended since the last call, with their wait status."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = status
