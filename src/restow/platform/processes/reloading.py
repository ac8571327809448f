"""`restow reload` asks the group's controller on this machine to read the transforms' modules again.

The request is a file in the group's directory, and not a signal: a controller that is suspended finds it later, one
that starts reads the modules anyway, and a controller of an older version is not ended by it.
"""

import uuid
from pathlib import Path

from restow.durable import ONLY_OWNER_DIRECTORY
from restow.platform.processes.files import write_json
from restow.platform.processes.supervisors import run_directory

Stamp = tuple[int, int]


class ReloadRequests:
    """The controller's side: requests since this object was made."""

    def __init__(self, group: str, directory: Path) -> None:
        self._file = _file(group, directory)
        self._seen = self._stamp()

    def is_new(self) -> bool:
        """Whether there was a request since the last call."""
        before, self._seen = self._seen, self._stamp()
        return self._seen is not None and self._seen != before

    def _stamp(self) -> Stamp | None:
        """Differs for each request, because each one replaces the file."""
        try:
            status = self._file.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino


def request_reload(group: str, directory: Path) -> None:
    file = _file(group, directory)
    file.parent.mkdir(ONLY_OWNER_DIRECTORY, parents=True, exist_ok=True)
    write_json(file, {"request": uuid.uuid4().hex})


def _file(group: str, directory: Path) -> Path:
    return run_directory(group, directory) / "reload.json"
