"""Compiles functions with numba and caches the result beside their source, or in the user's cache. Used by `stowage`.

Numba invalidates a cached function when its own file changes, but not when a function that it calls in another file
does. So the cache folder is named after a fingerprint of all sources together.
"""

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event

Function = TypeVar("Function", bound=Callable[..., Any])


def fingerprint(sources: Iterable[Path]) -> str:
    return sha256(b"\0".join(sha256(source.read_bytes()).digest() for source in sources)).hexdigest()[:12]


def writable(kept: Path) -> Path:
    """The cache folder to use: numba ignores a folder that it can't write to.

    A package that another user installed is compiled into this user's cache. The image has compiled code on a read-only
    file system; there each process gets a copy of it, which beats half a minute of compiling."""
    if _can_write(kept):
        return kept
    has_code = any(kept.rglob("*.nbi"))
    if not has_code and _can_write(shared := _cache_directory() / kept.name):
        return shared
    copy = Path(tempfile.mkdtemp(prefix="restow-compiled-"))
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    for source in kept.rglob("*.nb?"):
        target = copy / source.relative_to(kept)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    return copy


def _can_write(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=directory).close()
    except OSError:
        return False
    return True


def _cache_directory() -> Path:
    """Beside the jars that restow.java.jars keeps."""
    return Path(os.environ.get("RESTOW_CACHE") or Path.home() / ".cache" / "restow") / "compiled"


@contextmanager
def on_compiling(report: Callable[[], None]) -> Iterator[None]:
    """Calls `report` once if a function is compiled during the block. Code that is loaded from the cache isn't."""
    listener = _Listener(report)
    with event.install_listener("numba:compile", listener):
        yield


class _Listener(event.Listener):
    def __init__(self, report: Callable[[], None]) -> None:
        self._report = report
        self._has_reported = False

    def on_start(self, event: object) -> None:  # noqa: ARG002  which function it is doesn't matter
        if not self._has_reported:
            self._has_reported = True
            self._report()

    def on_end(self, event: object) -> None:
        pass


def compiler(module_file: str, modules: Iterable[str], **options: Any) -> Callable[[Function], Function]:
    """A decorator for the functions of these modules, which lie beside `module_file`. `options` are numba's."""
    package = Path(module_file).parent
    kept = package / "__pycache__" / f"compiled-{fingerprint(package / f'{module}.py' for module in modules)}"
    cache = writable(kept)

    def compiled(function: Function) -> Function:
        settings: Any = numba.config
        elsewhere = settings.CACHE_DIR
        settings.CACHE_DIR = str(cache)  # read as a function is decorated; other users of numba keep theirs
        try:
            return cast("Function", numba.njit(cache=True, nogil=True, **options)(function))
        finally:
            settings.CACHE_DIR = elsewhere

    return compiled
