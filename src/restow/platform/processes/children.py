"""What a keeper does to the processes below it: begins the consumer, finds all that it started, ends every one.

A consumer runs as it would in a container: when its own process ends, for whatever reason, all that it started ends
with it, because the next one on this volume must be alone. SIGTERM goes to the consumer's own process only: it may need
the others to finish what is under way.
"""

import ctypes
import math
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NoReturn

from restow.platform.processes.files import MARK, Wish
from restow.platform.processes.linux import Process, descendants, marked, send
from restow.platform.processes.logs import log_of

# Of Linux's prctl.
SET_PARENT_DEATH_SIGNAL, SET_CHILD_SUBREAPER = 1, 36

SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.01, 1.0
CANT_BE_STARTED: Final = 127
"""As shells say it."""


def adopt_orphans() -> None:
    """From now on, whatever loses its parent below this process becomes its child, not that of the machine's first."""
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1)


def begin(wish: Wish, environment: Mapping[str, str], number: int) -> int:
    """The consumer's process, with its output in its log; gives its id. The kernel ends it when this process ends."""
    keeper = os.getpid()
    prctl = ctypes.CDLL(None).prctl  # found before the fork, after which as little as possible should happen
    log = os.open(log_of(Path(wish.volume)), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        child = os.fork()
        if child == 0:
            prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
            if os.getppid() != keeper:  # it died before the kernel was asked
                os._exit(1)
            _become(wish, environment, number, nothing, log)
    finally:
        os.close(nothing)
        os.close(log)
    return child


def _become(wish: Wish, environment: Mapping[str, str], number: int, stdin: int, log: int) -> NoReturn:
    try:
        for target, source in enumerate((stdin, log, log)):
            os.dup2(source, target)
        os.chdir(wish.directory)
        if wish.cores is not None:
            os.sched_setaffinity(0, share_of_cores(os.sched_getaffinity(0), wish.cores, number))
        # What a keeper ignores or holds back is no business of the consumer.
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(ignored, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execvpe(wish.command[0], wish.command, environment)
    except BaseException as error:  # noqa: BLE001  nothing of the keeper may go on in here
        os.write(2, f"{wish.command[0]} can't be started in {wish.directory}: {error}\n".encode())
    finally:
        os._exit(CANT_BE_STARTED)


def share_of_cores(available: set[int], cores: float, number: int) -> set[int]:
    """So many whole cores, other ones for the next consumer; all of them if there aren't more."""
    usable, wanted = sorted(available), math.ceil(cores)
    if wanted >= len(usable):
        return available
    first = (number - 1) * wanted
    return {usable[(first + offset) % len(usable)] for offset in range(wanted)}


def others_of(home: Path) -> tuple[Process, ...]:
    """All living processes of the consumer whose home this is, but this one."""
    found = {*descendants(os.getpid()), *marked(MARK, str(home))}
    return tuple(sorted(known for known in found if known.pid != os.getpid()))


def kill_others(home: Path) -> None:
    """Until none is left. One that the kernel holds back (on a disk that doesn't answer) is waited for."""
    pause_s = SHORTEST_PAUSE_S
    while others := others_of(home):
        for known in others:
            send(known, signal.SIGKILL)
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        reap()


def end_others(home: Path, grace_s: float) -> None:
    """Asks all of them to end, and makes them after the grace time."""
    deadline_s = time.monotonic() + grace_s
    others = others_of(home)
    for known in others:
        send(known, signal.SIGTERM)
    while others and time.monotonic() < deadline_s:
        time.sleep(min(10 * SHORTEST_PAUSE_S, grace_s))
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
