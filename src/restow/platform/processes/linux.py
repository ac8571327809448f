"""Linux's processes, each known by more than its id: an id that is given out again must never be taken for the old one.

Everything in this folder asks here. A process carries a *mark* in its environment, which all that it starts inherits,
whatever sessions or process groups they make: it is how the processes of a consumer are found when the one above them
is dead. A process that empties its environment is found only while its keeper lives, as its descendant.
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
"""A zombie has nothing left that could write; only its exit code is still there."""

# Of the fields of /proc/PID/stat, those after the name in parentheses.
STATE, PARENT, STARTED = 0, 1, 19


class Process(NamedTuple):
    pid: int
    started: int
    """In ticks since the machine started."""
    boot: str
    """Which start of the machine."""


def need_linux() -> None:
    if not sys.platform.startswith("linux"):
        raise RestowError(f"consumers as local processes need Linux, and this is {sys.platform}; use another platform")


@cache
def _boot() -> str:
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def _fields(pid: int) -> list[str] | None:
    """Of a living process. The name before them may hold anything, spaces and parentheses too."""
    try:
        fields = (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].decode("ascii").split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[STATE] in DEAD else fields


def process(pid: int) -> Process | None:
    """The living process that has this id now."""
    fields = _fields(pid)
    return Process(pid, int(fields[STARTED]), _boot()) if fields else None


def this_process() -> Process:
    itself = process(os.getpid())
    assert itself
    return itself


def is_alive(known: Process) -> bool:
    return process(known.pid) == known


def send(known: Process, number: signal.Signals) -> None:
    """To this very process, or to none: the descriptor stays with the process that it was opened for."""
    try:
        descriptor = os.pidfd_open(known.pid)
    except ProcessLookupError:
        return
    try:
        if is_alive(known):
            signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        pass  # it ended on its own in between
    finally:
        os.close(descriptor)


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit())


def marked(name: str, value: str) -> tuple[Process, ...]:
    """All living processes with this in the environment that they were started with.

    Nothing is said of none after one look: what forks and ends in the middle of it could have slipped through.
    """
    return _marked(name, value) or _marked(name, value)


def _marked(name: str, value: str) -> tuple[Process, ...]:
    wanted = os.fsencode(f"{name}={value}")
    found = []
    for pid in _pids():
        try:
            environment = (PROC / str(pid) / "environ").read_bytes()
        except OSError:  # it is gone, or another user's
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
