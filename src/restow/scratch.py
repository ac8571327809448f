"""Scratch directories: temporary files that don't outlive a killed process for long.

A killed process can't remove its temporary files. Spark alone leaves several directories and libraries behind at each
kill, Python and Kafka leave more. So each process of restow that makes such files has a scratch directory of its own,
which Python, Java and all processes that it starts use in place of /tmp:

- A consumer's is in its own directory, or on a volume of its own in a pod (`take`). It is emptied when the consumer
  starts, which no other process of this consumer does at the same time.
- Other commands have one below /tmp/restow-UID (`temporary`). It has a lock, held for as long as its process lives. The
  next command removes the directories whose lock is free.
"""

import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from restow.durable import ONLY_OWNER_DIRECTORY, locked_directory, try_lock

log = logging.getLogger(__name__)

VARIABLE: Final = "RESTOW_SCRATCH"
"""Names the directory in which a consumer has its scratch directory, instead of its volume."""
LOCK: Final = "lock"
LOCKED_WITHIN_S: Final = 5.0
"""Making a directory takes milliseconds; a process that holds the lock for longer is suspended."""


def take(directory: Path) -> None:
    """Makes the directory this process's own: what an earlier process left there is removed, and temporary files go
    there from now on. The caller makes sure that no other process uses it."""
    try:
        _empty(directory)
        directory.mkdir(ONLY_OWNER_DIRECTORY, parents=True, exist_ok=True)
    except OSError as error:
        log.warning("%s can't be used for temporary files, which go to %s: %s", directory, tempfile.gettempdir(), error)
        return
    _use(str(directory))


@contextmanager
def temporary(name: str) -> Iterator[Path]:
    """A directory for as long as the block lasts, which this process uses for temporary files too."""
    with new_directory(name) as directory:
        lock = os.open(directory / LOCK, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC)
        try_lock(lock)
    before = os.environ.get("TMPDIR")
    _use(str(directory))
    try:
        yield directory
    finally:
        _use(before)
        shutil.rmtree(directory, ignore_errors=True)
        os.close(lock)


@contextmanager
def new_directory(name: str) -> Iterator[Path]:
    """A new directory, after those of dead processes are removed. Before the block ends, the caller takes the lock of
    the file `lock` in it, and holds it while the directory is in use."""
    home = Path(tempfile.gettempdir()) / f"restow-{os.getuid()}"
    if not _is_ours(home):
        yield Path(tempfile.mkdtemp(prefix=f"restow-{name}-"))
        return
    with locked_directory(home, LOCKED_WITHIN_S) as is_locked:
        if is_locked:
            _sweep(home)
            yield Path(tempfile.mkdtemp(prefix=f"{name}-", dir=home))
        else:
            yield Path(tempfile.mkdtemp(prefix=f"restow-{name}-"))


def _is_ours(home: Path) -> bool:
    """False if another user has put something in its place: anyone may write to /tmp."""
    try:
        found = home.lstat()
    except FileNotFoundError:
        return True
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()


def _sweep(home: Path) -> None:
    for directory in home.iterdir():
        try:
            lock = os.open(directory / LOCK, os.O_WRONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            shutil.rmtree(directory, ignore_errors=True)  # its process died before it took the lock
            continue
        except OSError:
            continue
        try:
            if try_lock(lock):
                shutil.rmtree(directory, ignore_errors=True)
        finally:
            os.close(lock)


def _empty(directory: Path) -> None:
    """Not the directory itself: it may be where a volume is mounted."""
    with suppress(FileNotFoundError):
        for entry in directory.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


def _use(directory: str | None) -> None:
    """For Python in this process, and for the programs that it starts. Java has an option of its own for it."""
    if directory is None:
        os.environ.pop("TMPDIR", None)
    else:
        os.environ["TMPDIR"] = directory
    tempfile.tempdir = directory  # None: looked up again in the environment
