"""The `file_sd` files by which Prometheus finds local processes, whose ports are free ones.

    restow-data/GROUP-metrics/GROUP-consumer-3-4711.json      one process, locked as long as it lives

A process removes its file when it ends. Files of killed processes have a free lock: each process that starts, and
`restow down`, removes them.
"""

import json
import logging
import os
from contextlib import suppress
from pathlib import Path

from restow.durable import try_lock
from restow.metrics.board import Board
from restow.platform.processes.location import directory_of
from restow.settings import Settings

log = logging.getLogger(__name__)

READABLE = 0o644
"""Prometheus is another user, and the file has no secrets."""


def targets_directory(settings: Settings) -> Path:
    own = settings.metrics.targets_directory
    if own is not None:
        return Path(settings.located(own)).absolute()
    return directory_of(settings) / f"{settings.group.name}-metrics"


class TargetFile:
    def __init__(self, directory: Path, board: Board) -> None:
        number = "" if board.consumer is None else f"-{board.consumer}"
        name = f"{board.group}-{board.role}{number}"
        unique = f"{name}-{os.getpid()}"
        self._path = directory / f"{unique}.json"
        # A consumer has one process at a time, by the lock on its volume; of the others a standby may run beside it.
        self._labels = {"instance": unique if board.consumer is None else name, "role": board.role}
        self._descriptor: int | None = None

    def write(self, host: str, port: int) -> None:
        """Never raises: without the file, Prometheus needs another way to find the process."""
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        content = json.dumps([{"targets": [address], "labels": self._labels}]) + "\n"
        new = self._path.with_suffix(".new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            remove_dead(self._path.parent)
            self._descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, READABLE)
            try_lock(self._descriptor)  # before anybody sees the file under its name
            os.write(self._descriptor, content.encode())
            new.replace(self._path)
        except OSError as error:
            log.warning(
                "can't write %s: %s; Prometheus does not find this process by it, at http://%s/metrics",
                self._path,
                error.strerror or error,
                address,
            )

    def remove(self) -> None:
        with suppress(OSError):
            self._path.unlink(missing_ok=True)
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def remove_dead(directory: Path) -> None:
    """Removes the files of processes that no longer live."""
    for file in sorted(directory.glob("*.json")):
        with suppress(OSError):
            descriptor = os.open(file, os.O_RDONLY)
            try:
                if try_lock(descriptor):
                    file.unlink(missing_ok=True)
            finally:
                os.close(descriptor)
