"""Starts keepers, and takes note of how those ended that this process started. Used by `keepers.py`."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from restow.platform.processes.disk import ONLY_OWNER_FILE
from restow.platform.processes.files import MARK
from restow.platform.processes.linux import process
from restow.platform.processes.supervisor import COMMAND, SIGNALS


@dataclass(slots=True)
class Spawned:
    """A keeper that this process started. It is ours to reap, so that until then nobody else has its id."""

    pid: int
    log: Path
    when_s: float
    is_reaped: bool = False

    @property
    def is_running(self) -> bool:
        return not self.is_reaped and process(self.pid) is not None

    def trouble(self) -> str | None:
        """Told once, when it has ended and not as it should."""
        if self.is_reaped:
            return None
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:  # somebody else in this process reaps all children
            pid, status = self.pid, 0
        if pid == 0:
            return None
        self.is_reaped = True
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            return f"its keeper was ended by {signal.Signals(-code).name}"
        return f"its keeper ended with exit code {code}; see {self.log}" if code else None


def spawn(home: Path) -> Spawned:
    """A keeper in a session of its own, which outlives us; its signals are held back until it fetches them."""
    log = home / "keeper.log"
    pid = os.posix_spawn(
        COMMAND[0],
        [*COMMAND, str(home)],
        {**os.environ, MARK: str(home)},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, ONLY_OWNER_FILE),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigmask=SIGNALS,
        setsigdef=(*SIGNALS, signal.SIGPIPE),
    )
    return Spawned(pid, log, time.monotonic())
