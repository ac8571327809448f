"""Files that survive a crash, and locks that end with their process. Standard library only: supervisors import it.

A reader of a file written here finds the whole old content or the whole new one, whatever killed the writer and when.
A lock is a kernel lock (flock) on an open file or directory: it ends with the last process that holds the descriptor,
so that no stale lock is ever left behind.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

ONLY_OWNER_FILE: Final = 0o600
"""Settings may hold secrets."""
ONLY_OWNER_DIRECTORY: Final = 0o700
LOOK_AGAIN_S: Final = 0.01


def write_atomically(file: Path, content: bytes, mode: int = ONLY_OWNER_FILE) -> None:
    """Replaces the file, and returns when the new content and its directory entry are on disk. Raises OSError: then the
    old content is there, and no space is taken for the new one."""
    new = file.with_name(f"{file.name}.new")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(descriptor)
        new.replace(file)
    except OSError:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise
    sync_directory(file.parent)


def remove(file: Path) -> None:
    """Removes the file, if it exists, and returns when that is on disk. Works on a full disk. Raises OSError."""
    file.unlink(missing_ok=True)
    sync_directory(file.parent)


class LineWriter:
    """Appends lines to a log on a disk that may be full. After a line that was cut, the next one begins on its own."""

    def __init__(self) -> None:
        self._is_cut = False

    def append(self, descriptor: int, line: str) -> None:
        """Raises OSError: then a part of the line may be in the file."""
        content, written = (f"\n{line}\n" if self._is_cut else f"{line}\n").encode(), 0
        try:
            while written < len(content):
                written += os.write(descriptor, content[written:])
        finally:
            if written:
                self._is_cut = not content[:written].endswith(b"\n")


def sync_directory(directory: Path) -> None:
    """Creations, renames and removals in the directory are on disk when this returns."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Takes the exclusive lock on an open file or directory, unless another process has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def locked_file(file: Path) -> Iterator[None]:
    """Waits, without a limit, for the exclusive lock on the file, which is created if it is missing."""
    with file.open("ab") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


@contextmanager
def locked_directory(directory: Path, within_s: float) -> Iterator[bool]:
    """Holds the exclusive lock on the directory, which is created if it is missing; yields False if another process
    held it all the time. The wait is bounded, because the holder may be stopped (SIGSTOP) for long. The holder may
    remove the directory."""
    deadline_s = time.monotonic() + within_s
    while True:
        directory.mkdir(ONLY_OWNER_DIRECTORY, parents=True, exist_ok=True)
        try:
            descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:  # removed just now
            continue
        try:
            if try_lock(descriptor) and _is_still(directory, descriptor):
                yield True
                return
        finally:
            os.close(descriptor)
        if time.monotonic() >= deadline_s:
            yield False
            return
        time.sleep(LOOK_AGAIN_S)


def _is_still(directory: Path, descriptor: int) -> bool:
    try:
        return directory.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False
