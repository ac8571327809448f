"""A role as a child process of this one: it can't outlive us, and we read its lines. `together.py` runs several, and
`background.py` those of a demonstration or a bench.

It runs below a lifeline (lifeline.py), in a session of its own, so that a terminal's Ctrl-C reaches only this process,
which ends its children in the right order.
"""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Final

from restow import lifeline
from restow.platform.processes.linux import Process, process
from restow.platform.processes.supervisor import STABLE_AFTER_S

READ_BYTES: Final = 64 << 10
LONGEST_LINE: Final = 1 << 20
"""Of a longer line, parts of this size are passed on: memory stays bounded whatever a child prints."""


RESTOW: Final = (sys.executable, "-P", "-m", "restow")
"""-P: modules are imported from the directory of restow.toml, and not from the working directory too."""


def role_command(role: str, config: Path, *options: str) -> list[str]:
    return [*RESTOW, role, "--config", str(config.absolute()), *options]


def start_role(
    command: Sequence[str], pipe: int, output: int | IO[bytes], doomed: Path | None = None
) -> "subprocess.Popen[bytes]":
    """`pipe` is the read end of the lifeline's pipe; `doomed` a directory that the lifeline removes at the role's end.
    Raises OSError."""
    return subprocess.Popen(
        lifeline.command(pipe, doomed, command),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        pass_fds=(pipe,),
        start_new_session=True,
    )


class Lines:
    """Cuts a stream of bytes into lines. Pure."""

    def __init__(self) -> None:
        self._begun = b""

    def complete(self, more: bytes) -> Iterator[str]:
        *lines, self._begun = (self._begun + more).split(b"\n")
        if len(self._begun) > LONGEST_LINE:
            lines, self._begun = [*lines, self._begun], b""
        return (line.decode("utf-8", "replace") for line in lines)

    def rest(self) -> Iterator[str]:
        """A last line without an end."""
        last, self._begun = self._begun, b""
        return (line.decode("utf-8", "replace") for line in [last] if line)


class RoleChild:
    def __init__(self, name: str, command: Sequence[str], pipe: int) -> None:
        """Raises OSError."""
        self.name, self.started_s = name, time.monotonic()
        self.has_more = True
        """Whether its output is still open."""
        self._lines = Lines()
        self._popen = start_role(command, pipe, subprocess.PIPE)
        assert self._popen.stdout
        self.output: Final = self._popen.stdout
        os.set_blocking(self.output.fileno(), False)

    @property
    def process(self) -> Process | None:
        """The lifeline's."""
        return process(self._popen.pid)

    @property
    def exit_code(self) -> int | None:
        """None while it runs. 128 and more: the number of the signal that killed it, as shells count."""
        code = self._popen.poll()
        return 128 - code if code is not None and code < 0 else code

    @property
    def is_stable(self) -> bool:
        """Whether it has run long enough to count as started."""
        return time.monotonic() - self.started_s >= STABLE_AFTER_S

    def new_lines(self) -> Iterator[str]:
        """Lines of what can be read now; the rest of a flood comes with the next call."""
        try:
            found = os.read(self.output.fileno(), READ_BYTES)
        except BlockingIOError:
            return
        self.has_more = bool(found)
        yield from self._lines.complete(found) if found else self._lines.rest()

    def terminate(self) -> None:
        self._popen.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        kill_role(self._popen)

    def close(self) -> Iterator[str]:
        """After its end: its last lines. A process that it left behind may hold the pipe open."""
        while self.has_more and select.select([self.output], [], [], 0.0)[0]:
            yield from self.new_lines()
        yield from self._lines.rest()
        self.output.close()


def kill_role(process: "subprocess.Popen[bytes]") -> None:
    """Has the lifeline kill it."""
    process.send_signal(signal.SIGUSR1)


def how_it_ended(exit_code: int) -> str:
    if exit_code <= 128:
        return f"ended with exit code {exit_code}" + (" without being asked to" if exit_code == 0 else "")
    try:
        return f"was killed by {signal.Signals(exit_code - 128).name}"
    except ValueError:
        return f"ended with exit code {exit_code}"
