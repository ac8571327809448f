"""Which controllers and monitors of a group run on this machine, and which `restow up`, so that `restow down` finds and
ends them.

A role's process is inside `with RunningRole(group, directory, "controller"):` while it works. Several processes of one
role may run, such as a suspended controller and its successor: each has a record of its own. On a full disk a role
works without a record; it says so, and makes the record when there is room.
"""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from restow.backoff import Backoff, Retries
from restow.durable import ONLY_OWNER_DIRECTORY
from restow.platform.processes.files import read_json, write_json
from restow.platform.processes.linux import Process, is_alive, need_linux, this_process
from restow.platform.processes.supervisors import run_directory

log = logging.getLogger(__name__)

RETRY: Final = Backoff(first_s=1.0, longest_s=30.0)
RECORD: Final = "record"

UP: Final = "up"
"""The name under which `restow up` is recorded, which runs the other roles as its children."""


@dataclass(frozen=True, slots=True)
class Role:
    name: str
    process: Process

    def __str__(self) -> str:
        return f"{'restow up' if self.name == UP else self.name} (process {self.process.pid})"


class RunningRole:
    """Records that this process has a role in a group. A process that dies without leaving the block does no harm."""

    def __init__(self, group: str, directory: Path, name: str) -> None:
        need_linux()
        self._role = Role(name, this_process())
        self._record = _records_of(group, directory) / f"{name}-{self._role.process.pid}.json"
        self._is_recorded = False
        self._retries = Retries(RETRY)

    def __enter__(self) -> Self:
        self.keep_recorded()
        return self

    def keep_recorded(self) -> None:
        """Makes the record, if it could not be made before and a retry is due. Called as the role's loop turns."""
        if self._is_recorded or self._retries.is_waiting(RECORD, time.monotonic()):
            return
        try:
            self._record.parent.mkdir(ONLY_OWNER_DIRECTORY, parents=True, exist_ok=True)
            write_json(self._record, asdict(self._role))
        except OSError as error:
            if self._retries.failed(RECORD, time.monotonic()):
                log.warning(
                    "%s can't be written: %s; until it can, `restow down` doesn't find this %s; retrying",
                    *(self._record, error.strerror, self._role.name),
                )
            return
        self._is_recorded = True
        if self._retries.succeeded(RECORD):
            log.info("%s is written; `restow down` finds this %s", self._record, self._role.name)

    def while_recorded(self, should_stop: Callable[[float], bool]) -> Callable[[float], bool]:
        """The same `should_stop`, which also keeps the role recorded."""

        def recorded_should_stop(seconds: float) -> bool:
            self.keep_recorded()
            return should_stop(seconds)

        return recorded_should_stop

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._record.unlink(missing_ok=True)


def running_roles(group: str, directory: Path) -> tuple[Role, ...]:
    """By name. Removes the records of processes that are dead."""
    found = []
    for record in sorted(_records_of(group, directory).glob("*.json")):
        role = read_json(record, lambda content: Role(content["name"], Process(*content["process"])))
        if role and is_alive(role.process):
            found.append(role)
        else:
            record.unlink(missing_ok=True)
    return tuple(found)


def _records_of(group: str, directory: Path) -> Path:
    return run_directory(group, directory) / "roles"
