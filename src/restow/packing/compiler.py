"""Compiles hot functions with numba and keeps the result beside their source. `packing.stowage` calls it.

Numba keeps a compiled function as long as the file that defines it is unchanged, and doesn't see that a function it
calls, in another file, has changed. So the result is kept in a folder named after all the sources together.
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
    """Numba passes over what is kept where it can't write, as in a container whose file system is read-only: there each
    process gets a copy of its own, in place of half a minute of compiling."""
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
    """A decorator for the functions of these modules, which lie beside the one that asks."""
    package = Path(module_file).parent
    kept = package / "__pycache__" / f"compiled-{fingerprint(package / f'{module}.py' for module in modules)}"
    cache = writable(kept)

    def compiled(function: Function) -> Function:
        settings: Any = numba.config
        elsewhere = settings.CACHE_DIR
        settings.CACHE_DIR = str(cache)  # read when a function is decorated; others' functions are left alone
        try:
            return cast("Function", numba.njit(cache=True, nogil=True)(function))
        finally:
            settings.CACHE_DIR = elsewhere

    return compiled
