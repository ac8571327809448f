"""Locks of the controllers of a group in one directory: whether a controller on this machine is dead.

    DIRECTORY/run/GROUP/controllers/controller-4711-9f86d081     locked as long as its controller lives

Each controller has a lock of its own, whose name is on the controller topic: if it is free, this very controller is
dead, whichever controllers have come since.
"""

import logging
import os
import uuid
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from restow.durable import ONLY_OWNER_DIRECTORY, ONLY_OWNER_FILE, try_lock
from restow.platform.processes.supervisors import run_directory

log = logging.getLogger(__name__)


class ControllerLock:
    """Held from `with` on until the process ends, however it ends."""

    def __init__(self, group: str, directory: Path) -> None:
        self.name: str | None = None
        """None while there is no lock."""
        self._directory = run_directory(group, directory) / "controllers"
        self._descriptor: int | None = None

    def __enter__(self) -> Self:
        name = f"controller-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        try:
            self._directory.mkdir(ONLY_OWNER_DIRECTORY, parents=True, exist_ok=True)
            self._descriptor = os.open(self._directory / name, os.O_RDWR | os.O_CREAT, ONLY_OWNER_FILE)
        except OSError as error:
            log.warning("no lock in %s (%s): if this controller dies, the next one waits", self._directory, error)
        else:
            self.name = name if try_lock(self._descriptor) else None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)  # the file stays: a free lock proves the end, a missing one nothing

    def is_free(self, name: str) -> bool:
        """Whether the controller with this lock is dead. False if it is alive, or if nothing is known of the lock."""
        if Path(name).name != name or name == self.name:
            return False
        try:
            descriptor = os.open(self._directory / name, os.O_RDWR)
        except OSError:
            return False
        try:
            return try_lock(descriptor)
        finally:
            os.close(descriptor)

    def remove_free(self) -> None:
        """Removes the locks of dead controllers. The controller in charge calls it: only its own lock matters then."""
        for file in sorted(self._directory.glob("controller-*")):
            if self.is_free(file.name):
                with suppress(OSError):
                    file.unlink()
