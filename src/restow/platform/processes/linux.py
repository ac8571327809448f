"""Linux processes, identified by pid, start time and boot id, so that a reused pid is never taken for the old process.

All of this package's questions to /proc are here. The processes of a consumer carry a *mark* in their environment, and
every process they start inherits it, in whatever session or process group: so they are found even when their supervisor
is dead. A process that clears its environment is found only while its supervisor lives, as its descendant.
"""

import os
import signal
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from restow.errors import RestowError

PROC: Final = Path("/proc")
DEAD: Final = ("Z", "X")
"""A zombie can't write any more; only its exit code is left."""

# Of the fields of /proc/PID/stat, those after the name in parentheses.
STATE, PARENT, STARTED = 0, 1, 19


class Process(NamedTuple):
    pid: int
    started: int
    """In clock ticks since boot."""
    boot: str
    """The boot id."""


def need_linux() -> None:
    if not sys.platform.startswith("linux"):
        raise RestowError(f"consumers as local processes need Linux, and this is {sys.platform}; use Kubernetes")


@cache
def boot_id() -> str:
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def _fields(pid: int) -> list[str] | None:
    """Of a living process, those after its name, which may contain spaces and parentheses."""
    try:
        fields = (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].decode("ascii").split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[STATE] in DEAD else fields


def process(pid: int) -> Process | None:
    """The living process that has this pid now."""
    fields = _fields(pid)
    return Process(pid, int(fields[STARTED]), boot_id()) if fields else None


def this_process() -> Process:
    itself = process(os.getpid())
    assert itself
    return itself


def is_alive(known: Process) -> bool:
    return process(known.pid) == known


def send(known: Process, number: signal.Signals) -> None:
    """Signals this very process or none: a pidfd stays with the process that it was opened for."""
    try:
        descriptor = os.pidfd_open(known.pid)
    except ProcessLookupError:
        return
    try:
        if is_alive(known):
            signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        pass  # it ended in between
    finally:
        os.close(descriptor)


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit())


def marked(name: str, value: str) -> tuple[Process, ...]:
    """All living processes that were started with this variable in their environment.

    Looks twice before it returns none: a process that forks and ends during one scan of /proc can escape it.
    """
    return _marked(name, value) or _marked(name, value)


def _marked(name: str, value: str) -> tuple[Process, ...]:
    wanted = os.fsencode(f"{name}={value}")
    found = []
    for pid in _pids():
        try:
            environment = (PROC / str(pid) / "environ").read_bytes()
        except OSError:  # it has ended, or belongs to another user
            continue
        if wanted in environment.split(b"\0") and (known := process(pid)):
            found.append(known)
    return tuple(sorted(found))


def descendants(root: int) -> tuple[Process, ...]:
    """All living processes below this one."""
    parents = {pid: int(fields[PARENT]) for pid in _pids() if (fields := _fields(pid))}
    found: set[int] = set()
    frontier = {root}
    while frontier := {pid for pid, parent in parents.items() if parent in frontier} - found:
        found |= frontier
    return tuple(known for pid in sorted(found) if (known := process(pid)))
