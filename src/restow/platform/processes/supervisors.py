"""The controllers' side of the keepers: writes wishes, gives each wish a keeper, removes what is gone.

`LocalProcesses` and `restow down` use it. Nothing of importance is remembered here: several of these, in several
processes, may work on one directory. A change of a consumer is made under its lock; of two keepers that are started for
one consumer the second sees that there is one, and ends.
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

from restow.model import ConsumerId
from restow.platform.interface import PlatformRefusal
from restow.platform.processes.disk import locked
from restow.platform.processes.files import MARK, Home, Status, Wish
from restow.platform.processes.linux import Process, is_alive, marked, need_linux, send
from restow.platform.processes.spawning import Spawned, spawn

LOCKED_WITHIN_S: Final = 5.0
"""A change takes milliseconds. Whoever holds a lock for longer is stopped, and may be for hours."""

KEEPER_AGAIN_AFTER_S: Final = 1.0
"""Between two keepers that are started for one consumer, should they not stay."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A consumer that is there, as the disk and the kernel tell."""

    made: str
    wanted: bool
    grace_s: float
    settings: str | None
    status: Status | None

    @property
    def child(self) -> Process | None:
        return self.status.child if self.status else None


class Keepers:
    def __init__(self, group: str, directory: Path, keep_volumes: bool = True) -> None:
        need_linux()
        self._name = f"{group}-consumer-"
        self._directory = directory.resolve()
        self._homes = run_of(group, directory)
        self._keep_volumes = keep_volumes
        self._spawned: dict[ConsumerId, Spawned] = {}

    def name(self, consumer: ConsumerId) -> str:
        return f"{self._name}{consumer}"

    def volume(self, consumer: ConsumerId) -> Path:
        return self._directory / self.name(consumer)

    def volumes(self) -> tuple[ConsumerId, ...]:
        """Of all consumers that are or were, by number."""
        return self._numbers_in(self._directory)

    def look(self) -> dict[ConsumerId, Seen]:
        """The consumers that are there, by number."""
        try:
            found = [(consumer, self._seen(consumer)) for consumer in self._numbers_in(self._homes)]
        except OSError as error:
            raise PlatformRefusal(f"{self._homes} can't be read: {error}") from error
        return {consumer: seen for consumer, seen in found if seen}

    def create(self, consumer: ConsumerId, wish: Wish) -> None:
        with self._alone(consumer) as home:
            seen = self._seen(consumer)
            if seen and not seen.wanted:
                raise PlatformRefusal(f"{home.name} is still leaving; create it when it is gone")
            if not seen:
                clear(home.path)
                home.set_wish(wish)
                self._forget_keeper(consumer)
            self._alert(consumer, home)

    def restart(self, consumer: ConsumerId, wish: Wish) -> None:
        with self._alone(consumer) as home:
            present = home.wish()
            if not present or not present.wanted:
                raise PlatformRefusal(f"{home.name} is not there, or leaving; one that runs can be restarted")
            home.set_wish(replace(wish, made=present.made, generation=present.generation + 1))
            self._alert(consumer, home)

    def delete(self, consumer: ConsumerId) -> None:
        with self._alone(consumer) as home:
            if (wish := home.wish()) and wish.wanted:
                home.set_wish(replace(wish, wanted=False, environment={}))
            self._mend_alone(consumer, home)

    def mend(self) -> dict[ConsumerId, str]:
        """Gives a keeper to every consumer that lost its own, and removes what is left of those that are gone.

        Gives the troubles it met.
        """
        ended = {consumer: spawned.trouble() for consumer, spawned in self._spawned.items()}
        # Of two keepers that were started at once, how the one ended that came too late is nobody's trouble.
        troubles = {
            consumer: trouble
            for consumer, trouble in ended.items()
            if trouble and not self._is_kept(consumer, self._home(consumer))
        }
        for consumer in self._numbers_in(self._homes):
            try:
                self._mend(consumer)
            except OSError as error:
                troubles[consumer] = f"its keeper can't be started: {error}"
        return troubles

    def _mend(self, consumer: ConsumerId) -> None:
        home = self._home(consumer)
        if not self._is_kept(consumer, home):
            with locked(home.path, 0.0) as alone:
                if alone:  # otherwise somebody else is at it
                    self._mend_alone(consumer, home)

    def _mend_alone(self, consumer: ConsumerId, home: Home) -> None:
        if self._seen(consumer):
            self._alert(consumer, home)
            return
        if not self._keep_volumes and home.wish():
            shutil.rmtree(self.volume(consumer), ignore_errors=True)
        clear(home.path)
        with suppress(OSError):  # a keeper that came too late has put its lock there; the next look removes that
            home.path.rmdir()

    def _seen(self, consumer: ConsumerId) -> Seen | None:
        """None: no process of it is left, and none is wanted."""
        home = self._home(consumer)
        wish, status = home.wish(), home.status()
        wanted = wish is not None and wish.wanted
        if not wanted and not self._is_kept(consumer, home) and not marked(MARK, str(home.path)):
            return None
        if wish is None:
            return Seen("", wanted, 0.0, None, status)
        return Seen(wish.made, wanted, wish.grace_s, wish.settings, status)

    def _is_kept(self, consumer: ConsumerId, home: Home) -> bool:
        """Whether it has a keeper; one that we started has no status yet."""
        status, spawned = home.status(), self._spawned.get(consumer)
        if status and is_alive(status.keeper):
            return True
        return spawned is not None and spawned.is_running

    def _alert(self, consumer: ConsumerId, home: Home) -> None:
        """Has the keeper look at the wish at once, or starts one."""
        status = home.status()
        if status and is_alive(status.keeper):
            send(status.keeper, signal.SIGHUP)
        elif not self._is_kept(consumer, home) and self._is_due(consumer):
            self._spawned[consumer] = spawn(home.path)

    def _forget_keeper(self, consumer: ConsumerId) -> None:
        """That of the consumer which had this number before: it has ended, and need not be waited for."""
        if spawned := self._spawned.pop(consumer, None):
            spawned.trouble()

    def _is_due(self, consumer: ConsumerId) -> bool:
        spawned = self._spawned.get(consumer)
        return spawned is None or time.monotonic() >= spawned.when_s + KEEPER_AGAIN_AFTER_S

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
    def _alone(self, consumer: ConsumerId) -> Iterator[Home]:
        home = self._home(consumer)
        try:
            with locked(home.path, LOCKED_WITHIN_S) as alone:
                if not alone:
                    raise PlatformRefusal(f"{home.name} is being changed by a process that doesn't go on; end that one")
                yield home
        except OSError as error:
            raise PlatformRefusal(f"{home.name} can't be changed: {error}") from error


def run_of(group: str, directory: Path) -> Path:
    """Where the homes of a group's consumers are, and the records of its other processes."""
    return directory.resolve() / "run" / group


def clear(directory: Path) -> None:
    for file in directory.iterdir():
        file.unlink(missing_ok=True)
