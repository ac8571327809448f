"""Which controllers and monitors of a group run on this machine, so that `restow down` finds and ends them.

A role's process is in `with RunningRole(group, directory, "controller"):` while it works. Several of a role may run, as
an old controller that was stopped and its successor do: each has a record of its own.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from restow.platform.processes.disk import ONLY_OWNER_DIRECTORY, read, replace_whole
from restow.platform.processes.linux import Process, is_alive, need_linux, this_process
from restow.platform.processes.supervisors import run_of


@dataclass(frozen=True, slots=True)
class Role:
    name: str
    process: Process

    def __str__(self) -> str:
        return f"{self.name} (process {self.process.pid})"


class RunningRole:
    """This process has a role in a group, from entering to leaving. Dying without leaving does no harm."""

    def __init__(self, group: str, directory: Path, name: str) -> None:
        need_linux()
        self._role = Role(name, this_process())
        self._record = _records_of(group, directory) / f"{name}-{self._role.process.pid}.json"

    def __enter__(self) -> Self:
        self._record.parent.mkdir(ONLY_OWNER_DIRECTORY, parents=True, exist_ok=True)
        replace_whole(self._record, asdict(self._role))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._record.unlink(missing_ok=True)


def running_roles(group: str, directory: Path) -> tuple[Role, ...]:
    """By name. The records of those that died without leaving are removed."""
    found = []
    for record in sorted(_records_of(group, directory).glob("*.json")):
        role = read(record, lambda written: Role(written["name"], Process(*written["process"])))
        if role and is_alive(role.process):
            found.append(role)
        else:
            record.unlink(missing_ok=True)
    return tuple(found)


def _records_of(group: str, directory: Path) -> Path:
    return run_of(group, directory) / "roles"
