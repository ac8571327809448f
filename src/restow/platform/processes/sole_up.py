"""At most one `restow up` for a group in a directory, and what a killed one left.

    DIRECTORY/run/GROUP/up.lock     locked as long as a `restow up` lives; has its pid
    DIRECTORY/run/GROUP/up.json     the processes that it started

The roles below a `restow up` end by themselves when it dies, a few seconds later. The next one does not wait for that:
it ends them, so that no role runs twice.
"""

import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from restow.durable import ONLY_OWNER_DIRECTORY, ONLY_OWNER_FILE, try_lock
from restow.errors import RestowError
from restow.platform.processes.files import read_json, write_json
from restow.platform.processes.linux import Process, is_alive, need_linux, send
from restow.platform.processes.supervisors import run_directory

LOOK_EVERY_S: Final = 0.05


class UpElsewhere(RestowError):
    """Another `restow up` runs for this group and directory."""

    def __init__(self, pid: str) -> None:
        self.pid = pid
        super().__init__(f"`restow up` runs already, as process {pid}")


class SoleUp:
    """Held from `with` on until the process ends, however it ends. Raises UpElsewhere."""

    def __init__(self, group: str, directory: Path) -> None:
        need_linux()
        self._directory = run_directory(group, directory)
        self._started = self._directory / "up.json"
        self._lock: int | None = None

    def __enter__(self) -> Self:
        file = self._directory / "up.lock"
        try:
            self._directory.mkdir(ONLY_OWNER_DIRECTORY, parents=True, exist_ok=True)
            self._lock = os.open(file, os.O_RDWR | os.O_CREAT, ONLY_OWNER_FILE)
        except OSError as error:
            raise RestowError(
                f"{file} can't be written: {error.strerror}; correct the rights, or [processes] directory"
            ) from None
        if not try_lock(self._lock):
            pid = os.read(self._lock, 32).decode(errors="replace").strip()
            os.close(self._lock)
            raise UpElsewhere(pid or "unknown")
        with suppress(OSError):  # on a full disk the next one has no pid to show
            os.ftruncate(self._lock, 0)
            os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lock is not None:
            os.close(self._lock)  # the file stays: it means nothing without the lock

    def remember(self, processes: Iterable[Process]) -> None:
        """For the next `restow up`, if this one is killed."""
        with suppress(OSError):  # on a full disk the next one has to wait until they have ended by themselves
            write_json(self._started, {"processes": list(processes)})

    def leftovers(self) -> tuple[Process, ...]:
        """Processes of an earlier `restow up` that have not ended yet."""
        known = read_json(self._started, lambda content: [Process(*each) for each in content["processes"]])
        return tuple(each for each in known or () if is_alive(each))


def end_leftovers(processes: Iterable[Process], grace_s: float) -> None:
    """SIGTERM, which each passes on to its role; after the grace time SIGKILL, with which the kernel kills the role."""
    left = list(processes)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for each in left:
            send(each, number)
        deadline_s = time.monotonic() + grace_s
        while (left := [each for each in left if is_alive(each)]) and time.monotonic() < deadline_s:
            time.sleep(LOOK_EVERY_S)
