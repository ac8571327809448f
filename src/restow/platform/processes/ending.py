"""Ends all of a group on this machine, for `restow down`: first who could start consumers, then the consumers."""

import shutil
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, TypeVar

from restow.errors import RestowError
from restow.platform.processes.linux import is_alive, send
from restow.platform.processes.roles import Role, running_roles
from restow.platform.processes.supervisors import Keepers, Seen, run_of

LOOK_EVERY_S: Final = 0.05
BEYOND_GRACE_S: Final = 30.0
"""A process that was killed is gone at once, unless the kernel can't let go of it."""

Say = Callable[[str], None]
T = TypeVar("T")


def end_group(group: str, directory: Path, grace_s: float, say: Say) -> bool:
    """Says what it ended, each when it is gone; whether there was anything."""
    had_roles = _end_roles(group, directory, grace_s, say)
    had_consumers = _end_consumers(group, directory, say)
    return had_roles or had_consumers


def remove_volumes(group: str, directory: Path, say: Say) -> bool:
    """Of a group of which nothing runs; whether there were any."""
    keepers = Keepers(group, directory)
    consumers = keepers.volumes()
    for consumer in consumers:
        shutil.rmtree(keepers.volume(consumer))
        say(f"removed {keepers.volume(consumer)}")
    shutil.rmtree(run_of(group, directory), ignore_errors=True)
    return bool(consumers)


def _end_roles(group: str, directory: Path, grace_s: float, say: Say) -> bool:
    roles = running_roles(group, directory)
    left: Mapping[str, Role] = {str(role): role for role in roles}
    for number, within_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, BEYOND_GRACE_S)):
        for role in left.values():
            send(role.process, number)
        left = _wait(left, lambda: {str(role): role for role in roles if is_alive(role.process)}, within_s, say)
    _all_ended(left)
    return bool(roles)


def _end_consumers(group: str, directory: Path, say: Say) -> bool:
    keepers = Keepers(group, directory)

    def look() -> Mapping[str, Seen]:
        keepers.mend()
        return {keepers.name(consumer): seen for consumer, seen in keepers.look().items()}

    consumers = keepers.look()
    for consumer in consumers:
        keepers.delete(consumer)
    # Twice its grace time: a keeper that died in the middle of it has a successor, which begins anew.
    within_s = 2 * max((seen.grace_s for seen in consumers.values()), default=0.0) + BEYOND_GRACE_S
    _all_ended(_wait({keepers.name(consumer): seen for consumer, seen in consumers.items()}, look, within_s, say))
    return bool(consumers)


def _wait(there: Mapping[str, T], look: Callable[[], Mapping[str, T]], within_s: float, say: Say) -> Mapping[str, T]:
    """Until none of them is there; those that still are after so many seconds."""
    deadline_s = time.monotonic() + within_s
    while True:
        now = look()
        for name in there:
            if name not in now:
                say(f"ended {name}")
        there = {name: each for name, each in there.items() if name in now}
        if not there or time.monotonic() >= deadline_s:
            return there
        time.sleep(LOOK_EVERY_S)


def _all_ended(left: Iterable[str]) -> None:
    if names := ", ".join(left):
        raise RestowError(f"{names} can't be ended, not even by SIGKILL; perhaps its disk doesn't answer: try again")
