"""Files below a table's root, on a disk or in an object store (objects.py). The ledger, compaction and vacuum use it,
and Spark's files are uploaded by it.
"""

import shutil
import tempfile
import weakref
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, Protocol

from restow.pipeline.delta.stores import is_remote

AT_ONCE: Final = 4
"""Files that are uploaded side by side: their waits overlap."""


class TableFiles(Protocol):
    """Paths are relative to the table's root. Methods raise OSError if the store fails."""

    def read(self, path: str) -> bytes:
        """Raises FileNotFoundError."""

    def fetch(self, path: str, to: Path) -> None:
        """Makes the file readable at `to`, a path that doesn't exist yet."""

    def upload(self, file: Path, path: str) -> None: ...

    def delete(self, path: str) -> None:
        """Does nothing if it is gone already."""

    def delete_directory(self, path: str) -> None:
        """With everything in it. Does nothing if it is gone already."""


def files_below(uri: str) -> TableFiles:
    if not is_remote(uri):
        return LocalFiles(uri)
    from restow.pipeline.delta.objects import StoredFiles  # noqa: PLC0415  it loads obstore

    return StoredFiles(uri)


class LocalFiles:
    def __init__(self, root: str) -> None:
        self._root = Path(root)

    def read(self, path: str) -> bytes:
        return (self._root / path).read_bytes()

    def fetch(self, path: str, to: Path) -> None:
        to.symlink_to(self._root / path)

    def upload(self, file: Path, path: str) -> None:
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)

    def delete(self, path: str) -> None:
        (self._root / path).unlink(missing_ok=True)

    def delete_directory(self, path: str) -> None:
        shutil.rmtree(self._root / path, ignore_errors=True)


class ScratchDirectory:
    """A directory on this machine's disk that vanishes with this object."""

    def __init__(self, prefix: str) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        self._removal = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def remove(self) -> None:
        self._removal()


def upload_all(uri: str, directory: Path, paths: Iterable[str]) -> None:
    """Uploads files. Their paths below the table's root are those below the directory."""
    files = files_below(uri)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in pool.map(lambda path: files.upload(directory / path, path), paths):
            pass
