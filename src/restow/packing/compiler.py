"""Compiles functions with numba and caches the result beside their source. Used by `stowage`.

Numba invalidates a cached function when its own file changes, but not when a function that it calls in another file
does. So the cache folder is named after a fingerprint of all sources together.
"""

import atexit
import shutil
import tempfile
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def fingerprint(sources: Iterable[Path]) -> str:
    return sha256(b"\0".join(sha256(source.read_bytes()).digest() for source in sources)).hexdigest()[:12]


def writable(kept: Path) -> Path:
    """Numba ignores a cache that it can't write to, as on a container's read-only file system. There each process gets
    a copy of the cache, which beats half a minute of compiling."""
    try:
        kept.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=kept).close()
    except OSError:
        copy = Path(tempfile.mkdtemp(prefix="restow-compiled-"))
        atexit.register(shutil.rmtree, copy, ignore_errors=True)
        for source in kept.rglob("*.nb?"):
            target = copy / source.relative_to(kept)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        return copy
    return kept


def compiler(module_file: str, modules: Iterable[str]) -> Callable[[Function], Function]:
    """A decorator for the functions of these modules, which lie beside `module_file`."""
    package = Path(module_file).parent
    kept = package / "__pycache__" / f"compiled-{fingerprint(package / f'{module}.py' for module in modules)}"
    cache = writable(kept)

    def compiled(function: Function) -> Function:
        settings: Any = numba.config
        elsewhere = settings.CACHE_DIR
        settings.CACHE_DIR = str(cache)  # read as a function is decorated; other users of numba keep theirs
        try:
            return cast("Function", numba.njit(cache=True, nogil=True)(function))
        finally:
            settings.CACHE_DIR = elsewhere

    return compiled
