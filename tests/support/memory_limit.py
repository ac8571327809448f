"""A memory cgroup with a real limit, as a pod's container has one. Needs the right to create cgroups (root)."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class MemoryLimit:
    directory: Path

    def command(self, *command: str) -> tuple[str, ...]:
        """Runs the command, and all that it starts, below the limit."""
        enter = f'echo $$ > {self.directory}/cgroup.procs && exec "$@"'
        return ("sh", "-c", enter, "sh", *command)

    @property
    def kills(self) -> int:
        """How many processes the kernel killed because of the limit."""
        for name in ("memory.events", "memory.oom_control"):
            file = self.directory / name
            if file.exists():
                found = dict(line.split() for line in file.read_text().splitlines())
                return int(found["oom_kill"])
        raise AssertionError(f"{self.directory} doesn't count kills")


@contextmanager
def memory_limit(megabytes: int) -> Iterator[MemoryLimit]:
    """Skips the test where no cgroup can be made."""
    is_second = (ROOT / "cgroup.controllers").exists()
    directory = (ROOT if is_second else ROOT / "memory") / f"restow-test-{os.getpid()}"
    try:
        directory.mkdir()
        (directory / ("memory.max" if is_second else "memory.limit_in_bytes")).write_text(str(megabytes << 20))
    except OSError as error:
        if directory.exists():
            directory.rmdir()
        pytest.skip(f"no memory cgroup can be made here: {error}")
    try:
        yield MemoryLimit(directory)
    finally:
        _remove(directory)


def _remove(directory: Path) -> None:
    """A cgroup can be removed a moment after its last process has ended."""
    deadline_s = time.monotonic() + 30.0
    while True:
        try:
            directory.rmdir()
        except OSError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.1)
        else:
            return
