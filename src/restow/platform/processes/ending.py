"""Ends a whole group on this machine, for `restow down`: first the roles, which could start consumers, then these.

`progress` gets one line for each process that has ended and each volume that was removed; the command prints them.
"""

import shutil
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from restow.errors import RestowError
from restow.model import ConsumerId
from restow.platform.processes.linux import is_alive, send
from restow.platform.processes.roles import UP, Role, running_roles
from restow.platform.processes.supervisors import LocalConsumer, Supervisors, run_directory

LOOK_EVERY_S: Final = 0.05
BEYOND_GRACE_S: Final = 30.0
"""A killed process is gone at once, unless the kernel can't end it yet."""

Progress = Callable[[str], None]
T = TypeVar("T")


def end_group(group: str, directory: Path, grace_s: float, progress: Progress) -> bool:
    """Returns whether anything ran. Raises RestowError if a process survives SIGKILL."""
    had_roles = _end_roles(group, directory, grace_s, progress)
    had_consumers = _end_consumers(group, directory, progress)
    return had_roles or had_consumers


def remove_volumes(group: str, directory: Path, progress: Progress) -> bool:
    """Removes the volumes of a group that has ended. Returns whether there were any."""
    supervisors = Supervisors(group, directory)
    consumers = supervisors.volumes()
    for consumer in consumers:
        shutil.rmtree(supervisors.volume(consumer))
        progress(f"removed {supervisors.volume(consumer)}")
    shutil.rmtree(run_directory(group, directory), ignore_errors=True)
    return bool(consumers)


def _end_roles(group: str, directory: Path, grace_s: float, progress: Progress) -> bool:
    """Ends `restow up` first: it ends its own roles, and would start them again if they were ended one by one."""
    roles = running_roles(group, directory)
    ups = [role for role in roles if role.name == UP]
    _end(ups, grace_s + BEYOND_GRACE_S, progress)
    others = dict.fromkeys([*roles, *running_roles(group, directory)])
    _end([role for role in others if role not in ups], grace_s, progress)
    return bool(roles)


def _end(roles: Sequence[Role], grace_s: float, progress: Progress) -> None:
    left: Mapping[str, Role] = {str(role): role for role in roles}
    for number, within_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, BEYOND_GRACE_S)):
        for role in left.values():
            send(role.process, number)
        left = _wait(left, lambda: {str(role): role for role in roles if is_alive(role.process)}, within_s, progress)
    _check_ended(left)


def _end_consumers(group: str, directory: Path, progress: Progress) -> bool:
    supervisors = Supervisors(group, directory)

    def by_name(consumers: Mapping[ConsumerId, LocalConsumer]) -> Mapping[str, LocalConsumer]:
        return {supervisors.name(consumer): local for consumer, local in consumers.items()}

    def still_there() -> Mapping[str, LocalConsumer]:
        supervisors.repair()
        return by_name(supervisors.consumers())

    consumers = supervisors.consumers()
    for consumer in consumers:
        supervisors.delete(consumer)
    # Twice the grace time: if a supervisor dies halfway through it, its successor starts again from SIGTERM.
    within_s = 2 * max((local.grace_s for local in consumers.values()), default=0.0) + BEYOND_GRACE_S
    _check_ended(_wait(by_name(consumers), still_there, within_s, progress))
    return bool(consumers)


def _wait(
    there: Mapping[str, T], still_there: Callable[[], Mapping[str, T]], within_s: float, progress: Progress
) -> Mapping[str, T]:
    """Waits until all have ended, at most this long. Returns what still runs."""
    deadline_s = time.monotonic() + within_s
    while True:
        now = still_there()
        for name in there:
            if name not in now:
                progress(f"ended {name}")
        there = {name: each for name, each in there.items() if name in now}
        if not there or time.monotonic() >= deadline_s:
            return there
        time.sleep(LOOK_EVERY_S)


def _check_ended(left: Iterable[str]) -> None:
    if names := ", ".join(left):
        raise RestowError(f"{names} survived SIGKILL; perhaps a disk hangs: try again when it answers")
