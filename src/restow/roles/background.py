"""The roles of a group as children in the background, with their output in files. The demonstration and `restow bench
handover` run theirs so.

None of them outlives this process: each runs below a lifeline (child.py).
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from restow.platform.processes.ending import end_group
from restow.roles.child import kill_role, role_command, start_role


class BackgroundRoles:
    def __init__(self, group: str, config: Path, processes: Path, grace_s: float) -> None:
        """Output is written beside restow.toml, which is `config`; `processes` is the `directory` of [processes]."""
        self._group, self._config, self._processes, self._grace_s = group, config, processes, grace_s
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._pipe = os.pipe()

    def start(self, role: str, *options: str, doomed: Path | None = None) -> None:
        """`doomed` is a directory that is removed when the role has ended. Raises OSError."""
        with self._file(role).open("wb") as output:
            command = role_command(role, self._config, *options)
            self._children[role] = start_role(command, self._pipe[0], output, doomed)

    def ended(self) -> Iterator[str]:
        """The roles whose processes have ended by themselves."""
        return (role for role, child in self._children.items() if child.poll() is not None)

    def output_of(self, role: str) -> str:
        return self._file(role).read_text(encoding="utf-8", errors="replace")

    def end(self) -> None:
        """Ends the roles first, because the controller could start consumers, and then the consumers."""
        for child in self._children.values():
            child.terminate()
        for child in self._children.values():
            try:
                child.wait(self._grace_s)
            except subprocess.TimeoutExpired:
                kill_role(child)
                child.wait(self._grace_s)
        end_group(self._group, self._processes, self._grace_s, lambda _: None)
        for end in self._pipe:
            os.close(end)

    def _file(self, role: str) -> Path:
        return self._config.parent / f"{role}.txt"
