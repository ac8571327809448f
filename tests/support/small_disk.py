"""A real file system of a few megabytes that a test can fill: a tmpfs in a mount namespace of this process's own.

Processes that a test starts are in the same namespace. The file system vanishes with the last of them, however it ends.
"""

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pytest

NEW_MOUNT_NAMESPACE: Final = 0x20000  # CLONE_NEWNS of Linux's unshare
FILLER: Final = "filler"
BLOCK: Final = bytes(4096)


class SmallDisk:
    def __init__(self, path: Path) -> None:
        self.path = path
        """Where it is mounted."""

    def fill(self, *logs: Path) -> None:
        """Until not a byte can be added to a new file, nor to the last blocks of these logs, which get blank lines."""
        _extend(self.path / FILLER, BLOCK)
        for log in (self.path / FILLER, *logs):
            _extend(log, b"\n")

    def free(self) -> None:
        (self.path / FILLER).unlink(missing_ok=True)


def _extend(file: Path, content: bytes) -> None:
    """Appends the content again and again until it doesn't fit."""
    with suppress(OSError), file.open("ab", buffering=0) as stream:
        while stream.write(content) == len(content):
            pass


@contextmanager
def small_disk(path: Path, size_mb: int = 4) -> Iterator[SmallDisk]:
    """Mounts one at the path, which is created. Skips the test where that can't be done."""
    path.mkdir()
    _leave_the_others_mounts()
    _mount("-t", "tmpfs", "-o", f"size={size_mb}m", "small", str(path))
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def _leave_the_others_mounts() -> None:
    if os.geteuid() != 0 or ctypes.CDLL(None).unshare(NEW_MOUNT_NAMESPACE) != 0:
        pytest.skip("a small file system needs root's right to mount one")
    _mount("--make-rslave", "/")


def _mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"a small file system can't be mounted: {done.stderr.strip()}")
