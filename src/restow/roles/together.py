"""Runs several roles of a group as children of this process, for `restow up`: one stream of lines, restarts, one end.

A role that ends unasked is started again with the pauses that a consumer's supervisor makes. One that refuses its
settings at its first start ends all: a person is there to correct them. Later the same is retried like any crash: the
group must not lose its monitor at night because restow.toml is being edited.
"""

import logging
import os
import selectors
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Final, Self

from restow.backoff import Retries
from restow.errors import InvalidInput
from restow.platform.processes.linux import Process
from restow.platform.processes.supervisor import RESTART
from restow.roles.child import RoleChild, how_it_ended

log = logging.getLogger(__name__)

TURN_S: Final = 0.2
KILLED_WITHIN_S: Final = 10.0

Remember = Callable[[tuple[Process, ...]], None]


class Together:
    """As a context: when it is left, no child runs."""

    def __init__(
        self,
        commands: Mapping[str, Sequence[str]],
        show: Callable[[str], None],
        remember: Remember,
        grace_s: float,
    ) -> None:
        """`commands` are started in this order and ended in the other; `show` gets every line that they print;
        `remember` all children whenever one is started."""
        self._commands, self._show, self._remember, self._grace_s = commands, show, remember, grace_s
        self._children: dict[str, RoleChild] = {}
        self._retries = Retries(RESTART)
        self._proven: set[str] = set()
        """Roles that once ran long enough to count as started."""
        self._selector = selectors.DefaultSelector()
        self._pipe: tuple[int, int] = (-1, -1)

    def __enter__(self) -> Self:
        self._pipe = os.pipe()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_all()
        self._selector.close()
        for end in self._pipe:
            os.close(end)

    def run(self, should_stop: Callable[[float], bool], every_turn: Callable[[], None]) -> int:
        """Returns 0 after a stop signal, or the exit code of a role that can't start with its settings."""
        while not should_stop(0.0):
            for name in self._commands:
                self._start_if_due(name)
            self._pass_on(TURN_S)
            for child in [each for each in self._children.values() if each.exit_code is not None]:
                code = self._ended(child)
                if child.is_stable:
                    self._proven.add(child.name)
                if code == InvalidInput.exit_code and child.name not in self._proven:
                    log.error("the %s can't start with these settings; its error is above", child.name)
                    return InvalidInput.exit_code
                self._restart_later(child)
            every_turn()
        return 0

    def _start_if_due(self, name: str) -> None:
        if name in self._children or self._retries.is_waiting(name, time.monotonic()):
            return
        try:
            child = RoleChild(name, self._commands[name], self._pipe[0])
        except OSError as error:  # the process table is full, or memory is short
            self._retries.failed(name, time.monotonic())
            pause_s = self._retries.pause_s(name)
            log.warning("the %s can't be started: %s; trying again in %g s", name, error.strerror, pause_s)
            return
        self._children[name] = child
        self._selector.register(child.output, selectors.EVENT_READ, child)
        self._remember(tuple(known for each in self._children.values() if (known := each.process)))

    def _pass_on(self, seconds: float) -> None:
        """Shows what children print, for at most about this long."""
        for key, _ in self._selector.select(seconds):
            child: RoleChild = key.data
            for line in child.new_lines():
                self._show(line)
            if not child.has_more:
                self._unregister(child)

    def _ended(self, child: RoleChild) -> int:
        """Takes the child out, with its last lines; returns its exit code."""
        self._unregister(child)
        for line in child.close():
            self._show(line)
        del self._children[child.name]
        assert child.exit_code is not None
        return child.exit_code

    def _unregister(self, child: RoleChild) -> None:
        if child.output in self._selector.get_map():
            self._selector.unregister(child.output)

    def _restart_later(self, child: RoleChild) -> None:
        now_s = time.monotonic()
        if child.is_stable:
            self._retries.succeeded(child.name)
        self._retries.failed(child.name, now_s)
        assert child.exit_code is not None
        how, pause_s = how_it_ended(child.exit_code), self._retries.pause_s(child.name)
        log.warning("the %s %s; starting it again in %g s", child.name, how, pause_s)

    def _end_all(self) -> None:
        """One after the other, the last started first; all of them together have the grace time."""
        deadline_s = time.monotonic() + self._grace_s
        for child in reversed([self._children[name] for name in self._commands if name in self._children]):
            child.terminate()
            if not self._ends_by(child, deadline_s):
                log.warning("killing the %s: it still runs %g s after SIGTERM", child.name, self._grace_s)
                child.kill()
                self._ends_by(child, time.monotonic() + KILLED_WITHIN_S)

    def _ends_by(self, child: RoleChild, deadline_s: float) -> bool:
        while child.exit_code is None and time.monotonic() < deadline_s:
            self._pass_on(TURN_S)
        if child.exit_code is None:
            return False
        self._ended(child)
        return True
