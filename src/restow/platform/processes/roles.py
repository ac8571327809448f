"""Which controllers and monitors of a group run on this machine, so that `restow down` finds and ends them.

A role's process is inside `with RunningRole(group, directory, "controller"):` while it works. Several processes of one
role may run, such as a suspended controller and its successor: each has a record of its own.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from restow.durable import ONLY_OWNER_DIRECTORY
from restow.platform.processes.files import read_json, write_json
from restow.platform.processes.linux import Process, is_alive, need_linux, this_process
from restow.platform.processes.supervisors import run_directory


@dataclass(frozen=True, slots=True)
class Role:
    name: str
    process: Process

    def __str__(self) -> str:
        return f"{self.name} (process {self.process.pid})"


class RunningRole:
    """Records that this process has a role in a group. A process that dies without leaving the block does no harm."""

    def __init__(self, group: str, directory: Path, name: str) -> None:
        need_linux()
        self._role = Role(name, this_process())
        self._record = _records_of(group, directory) / f"{name}-{self._role.process.pid}.json"

    def __enter__(self) -> Self:
        self._record.parent.mkdir(ONLY_OWNER_DIRECTORY, parents=True, exist_ok=True)
        write_json(self._record, asdict(self._role))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
