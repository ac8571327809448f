"""Files that are replaced whole, and a lock on a directory.

A reader finds the old file or the new one, and a writer may die at any instruction. What can't be read for any other
reason, like a file that somebody edited, counts as none.
"""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

ONLY_OWNER_FILE: Final = 0o600
"""Settings may hold secrets."""
ONLY_OWNER_DIRECTORY: Final = 0o700

LOOK_AGAIN_S: Final = 0.01

T = TypeVar("T")


def read(file: Path, make: Callable[[dict[str, Any]], T]) -> T | None:
    try:
        return make(json.loads(file.read_bytes()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError):  # half a file, or not one of ours
        return None


def replace_whole(file: Path, content: dict[str, Any]) -> None:
    new = file.with_suffix(".new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, ONLY_OWNER_FILE)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        json.dump(content, stream)
        stream.flush()
        os.fsync(descriptor)
    new.replace(file)


@contextmanager
def locked(directory: Path, within_s: float) -> Iterator[bool]:
    """Alone with a directory, which is made if it isn't there; False if others were at it all the time.

    The wait has a limit, because whoever holds the lock may be stopped for long. The holder may remove the directory.
    """
    deadline_s = time.monotonic() + within_s
    while True:
        directory.mkdir(ONLY_OWNER_DIRECTORY, parents=True, exist_ok=True)
        try:
            descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:  # removed just now
            continue
        try:
            if _lock(descriptor) and _is_still(directory, descriptor):
                yield True
                return
        finally:
            os.close(descriptor)
        if time.monotonic() >= deadline_s:
            yield False
            return
        time.sleep(LOOK_AGAIN_S)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still(directory: Path, descriptor: int) -> bool:
    try:
        return directory.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False
