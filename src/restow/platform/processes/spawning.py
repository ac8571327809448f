"""Starts supervisors, and reports how they ended. Used by `supervisors.py`."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from restow.durable import ONLY_OWNER_FILE
from restow.platform.processes.files import MARK
from restow.platform.processes.linux import process
from restow.platform.processes.supervisor import COMMAND, SIGNALS


@dataclass(slots=True)
class Spawned:
    """A supervisor that this process started. Until this process reaps it, its pid can't be reused."""

    pid: int
    log: Path
    started_s: float
    is_reaped: bool = False

    @property
    def is_running(self) -> bool:
        return not self.is_reaped and process(self.pid) is not None

    def failure(self) -> str | None:
        """How it failed, returned once; None while it runs or if it ended well."""
        if self.is_reaped:
            return None
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:  # another part of this process reaps all children
            pid, status = self.pid, 0
        if pid == 0:
            return None
        self.is_reaped = True
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            return f"its supervisor was killed by {signal.Signals(-code).name}"
        return f"its supervisor ended with exit code {code}; see {self.log}" if code else None


def spawn(home: Path) -> Spawned:
    """Starts a supervisor that outlives this process: in a session of its own, its signals blocked until it fetches
    them."""
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
