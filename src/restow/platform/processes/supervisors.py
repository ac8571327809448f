"""The controller's side of the supervisors: writes desired state, starts supervisors, removes what is gone.

`LocalProcesses` and `restow down` use it. All state is on disk: several of these objects, in several processes, may
work on one directory. A change to a consumer is made under the lock of its home; of two supervisors started for one
consumer, the second finds the first one's lock and ends.
"""

import re
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from restow.durable import locked_directory
from restow.model import ConsumerId
from restow.platform.interface import PlatformRefusal
from restow.platform.processes.files import MARK, DesiredState, Home, Status
from restow.platform.processes.linux import Process, is_alive, marked, need_linux, send
from restow.platform.processes.spawning import Spawned, spawn

LOCKED_WITHIN_S: Final = 5.0
"""A change takes milliseconds. A process that holds the lock for longer is suspended, perhaps for hours."""

SPAWN_AGAIN_AFTER_S: Final = 1.0
"""Between two supervisors that are started for one consumer, if the first doesn't stay."""


@dataclass(frozen=True, slots=True)
class LocalConsumer:
    """A consumer that exists, by its files and its processes."""

    creation: str
    wanted: bool
    grace_s: float
    settings: str | None
    status: Status | None

    @property
    def child(self) -> Process | None:
        return self.status.child if self.status else None


class Supervisors:
    def __init__(self, group: str, directory: Path, keep_volumes: bool = True) -> None:
        need_linux()
        self._name = f"{group}-consumer-"
        self._directory = directory.resolve()
        self._homes = run_directory(group, directory)
        self._keep_volumes = keep_volumes
        self._spawned: dict[ConsumerId, Spawned] = {}

    def name(self, consumer: ConsumerId) -> str:
        return f"{self._name}{consumer}"

    def volume(self, consumer: ConsumerId) -> Path:
        return self._directory / self.name(consumer)

    def volumes(self) -> tuple[ConsumerId, ...]:
        """Numbers of all consumers, present and past, that have a volume."""
        return self._numbers_in(self._directory)

    def consumers(self) -> dict[ConsumerId, LocalConsumer]:
        """All consumers that exist, by number."""
        try:
            found = [(consumer, self._found(consumer)) for consumer in self._numbers_in(self._homes)]
        except OSError as error:
            raise PlatformRefusal(f"{self._homes} can't be read: {error}") from error
        return {consumer: local for consumer, local in found if local}

    def create(self, consumer: ConsumerId, desired: DesiredState) -> None:
        with self._locked(consumer) as home:
            present = self._found(consumer)
            if present and not present.wanted:
                raise PlatformRefusal(f"{home.name} is still leaving; create it when it is gone")
            if not present:
                clear(home.path)
                home.set_desired(desired)
                self._forget_spawned(consumer)
            self._alert(consumer, home)

    def restart(self, consumer: ConsumerId, desired: DesiredState) -> None:
        with self._locked(consumer) as home:
            present = home.desired()
            if not present or not present.wanted:
                raise PlatformRefusal(f"{home.name} doesn't exist or is leaving; only a running consumer can restart")
            home.set_desired(replace(desired, creation=present.creation, generation=present.generation + 1))
            self._alert(consumer, home)

    def delete(self, consumer: ConsumerId) -> None:
        with self._locked(consumer) as home:
            if (desired := home.desired()) and desired.wanted:
                try:
                    home.set_desired(replace(desired, wanted=False, environment={}))
                except OSError:  # on a full disk: a consumer without a desired state is not wanted either
                    home.forget_desired()
            self._repair_locked(consumer, home)

    def repair(self) -> dict[ConsumerId, str]:
        """Starts missing supervisors and removes what deleted consumers left. Returns what failed, by consumer."""
        ended = {consumer: spawned.failure() for consumer, spawned in self._spawned.items()}
        # If two supervisors were started at once, the exit of the second is no failure.
        failures = {
            consumer: failure
            for consumer, failure in ended.items()
            if failure and not self._is_supervised(consumer, self._home(consumer))
        }
        for consumer in self._numbers_in(self._homes):
            try:
                self._repair(consumer)
            except OSError as error:
                failures[consumer] = f"its supervisor can't be started: {error}"
        return failures

    def _repair(self, consumer: ConsumerId) -> None:
        home = self._home(consumer)
        if not self._is_supervised(consumer, home):
            with locked_directory(home.path, 0.0) as is_locked:
                if is_locked:  # otherwise another process is at work on it
                    self._repair_locked(consumer, home)

    def _repair_locked(self, consumer: ConsumerId, home: Home) -> None:
        if self._found(consumer):
            self._alert(consumer, home)
            return
        if not self._keep_volumes and home.desired():
            shutil.rmtree(self.volume(consumer), ignore_errors=True)
        clear(home.path)
        with suppress(OSError):  # a late supervisor has just put its lock file there; the next repair removes it
            home.path.rmdir()

    def _found(self, consumer: ConsumerId) -> LocalConsumer | None:
        """Returns None if the consumer is not wanted and no process of it is left."""
        home = self._home(consumer)
        desired, status = home.desired(), home.status()
        wanted = desired is not None and desired.wanted
        if not wanted and not self._is_supervised(consumer, home) and not marked(MARK, str(home.path)):
            return None
        if desired is None:
            return LocalConsumer("", wanted, 0.0, None, status)
        return LocalConsumer(desired.creation, wanted, desired.grace_s, desired.settings, status)

    def _is_supervised(self, consumer: ConsumerId, home: Home) -> bool:
        """Whether a supervisor runs. If this process has just started it, it has not written its status yet."""
        status, spawned = home.status(), self._spawned.get(consumer)
        if status and is_alive(status.supervisor):
            return True
        return spawned is not None and spawned.is_running

    def _alert(self, consumer: ConsumerId, home: Home) -> None:
        """Makes the supervisor read the desired state at once, or starts one."""
        status = home.status()
        if status and is_alive(status.supervisor):
            send(status.supervisor, signal.SIGHUP)
        elif not self._is_supervised(consumer, home) and self._may_spawn(consumer):
            self._spawned[consumer] = spawn(home.path)

    def _forget_spawned(self, consumer: ConsumerId) -> None:
        """Reaps the supervisor of the consumer that had this number before."""
        if spawned := self._spawned.pop(consumer, None):
            spawned.failure()

    def _may_spawn(self, consumer: ConsumerId) -> bool:
        spawned = self._spawned.get(consumer)
        return spawned is None or time.monotonic() >= spawned.started_s + SPAWN_AGAIN_AFTER_S

    def _home(self, consumer: ConsumerId) -> Home:
        return Home(self._homes / self.name(consumer))

    def _numbers_in(self, directory: Path) -> tuple[ConsumerId, ...]:
        try:
            names = [entry.name for entry in directory.iterdir()]
        except FileNotFoundError:
            return ()
        found = (re.fullmatch(rf"{re.escape(self._name)}([1-9][0-9]*)", name) for name in names)
        return tuple(sorted(ConsumerId(int(match[1])) for match in found if match))

    @contextmanager
    def _locked(self, consumer: ConsumerId) -> Iterator[Home]:
        home = self._home(consumer)
        try:
            with locked_directory(home.path, LOCKED_WITHIN_S) as is_locked:
                if not is_locked:
                    raise PlatformRefusal(
                        f"{home.name} is locked by another process, which has not finished in {LOCKED_WITHIN_S:g} s; "
                        "end that process"
                    )
                yield home
        except OSError as error:
            raise PlatformRefusal(f"{home.name} can't be changed: {error}") from error


def run_directory(group: str, directory: Path) -> Path:
    """Where the homes of a group's consumers are, and the records of its controllers and monitors."""
    return directory.resolve() / "run" / group


def clear(directory: Path) -> None:
    for file in directory.iterdir():
        file.unlink(missing_ok=True)
