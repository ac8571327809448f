"""The programs of a test cluster, as processes that end with the tests. Started by `control_plane.py` and `node.py`."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from restow import lifeline
from restow.errors import RestowError

START_WITHIN_S = 120.0
"""They start in seconds on an idle machine, and much slower beside a test suite on two cores."""

STOP_WITHIN_S = 20.0
ASK_EVERY_S = 0.05

ERRORS = re.compile(r"^[EF]\d{4} |level=(error|fatal)|\"level\":\"(error|fatal)\"|^Error|^panic")
QUOTED_LINES = 15


class Program:
    """One process and its log. It ends when the owner of the pipe's write end does, however that ends."""

    def __init__(self, name: str, command: tuple[str, ...], home: Path, pipe: int) -> None:
        self.name, self.log = name, home / f"{name}.log"
        self._command, self._home, self._pipe = command, home, pipe
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        assert not self.is_running
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                lifeline.command(self._pipe, self._home, self._command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(self._pipe,),
                start_new_session=True,
            )

    def ask_to_stop(self) -> None:
        if self.is_running and self._process is not None:
            self._process.terminate()

    def kill(self) -> None:
        """Kills it, and waits."""
        if self.is_running and self._process is not None:
            self._process.send_signal(signal.SIGUSR1)  # the lifeline ends when the program has
        self.wait_for_stop()

    def wait_for_stop(self, within_s: float = STOP_WITHIN_S) -> None:
        if self._process is None:
            return
        try:
            self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def wait_until(self, ready: Callable[[], object], what: str) -> None:
        """Waits until it is ready; raises RestowError if it ends first or takes too long."""
        deadline = time.monotonic() + START_WITHIN_S
        while not ready():
            self.check()
            if time.monotonic() > deadline:
                raise RestowError(f"{self.name} was not {what} in {START_WITHIN_S:g} s; its log:\n{self.last_lines()}")
            time.sleep(ASK_EVERY_S)

    def check(self) -> None:
        """Raises RestowError if it has ended."""
        if not self.is_running:
            code = self._process.returncode if self._process else None
            raise RestowError(f"{self.name} ended by itself (exit code {code}); its log:\n{self.last_lines()}")

    def last_lines(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        quoted = [line for line in lines if ERRORS.search(line)] or lines
        return "\n".join(f"    {line}" for line in quoted[-QUOTED_LINES:])
