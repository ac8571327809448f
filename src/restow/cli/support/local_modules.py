"""Finds the Python modules of transforms, and what those import, where people edit them: beside restow.toml and on
PYTHONPATH. Installed packages don't count, nor does restow itself. Schema files count too.

Imports are read from the source, wherever they stand in it, and nothing is executed. A module that is imported by a
computed name is not found.
"""

import ast
import hashlib
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from restow.settings import Settings


class LocalModules(NamedTuple):
    sources: dict[str, bytes]
    """Contents by path, relative to the directory in which the module was found."""
    errors: dict[Path, str]
    """The files that are no Python modules, each with the reason. What they import is unknown."""

    @property
    def digest(self) -> str | None:
        """Of all sources; None if there are none."""
        if not self.sources:
            return None
        sha = hashlib.sha256()
        for name, source in sorted(self.sources.items()):
            sha.update(f"{name}\0{len(source)}\0".encode() + source)
        return sha.hexdigest()[:12]


def local_modules(settings: Settings, config: Path, environment: Mapping[str, str]) -> LocalModules:
    """The modules that consumers load for the transforms of restow.toml, and its schemas."""
    directory = config.absolute().parent
    others = (Path(entry) for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry)
    found = modules_in((directory, *others), transform_modules(settings))
    return found._replace(sources={**found.sources, **schemas_in(directory, settings)})


def schemas_in(directory: Path, settings: Settings) -> dict[str, bytes]:
    """The schema files of restow.toml, by their paths in it. One that can't be read is left out: consumers say so."""
    paths = {service.schema for service in settings.consume.values() if service.schema}
    found = {}
    for path in sorted(paths):
        with suppress(OSError):
            found[path] = directory.joinpath(path).read_bytes()
    return found


def transform_modules(settings: Settings) -> list[str]:
    """The names of the modules that restow.toml names, sorted."""
    return sorted({service.transform.partition(":")[0] for service in settings.consume.values() if service.transform})


def modules_in(path: Sequence[Path], names: Iterable[str]) -> LocalModules:
    sources: dict[str, bytes] = {}
    errors: dict[Path, str] = {}
    wanted = list(names)
    while wanted:
        for name, file in _files(wanted.pop(), path):
            if name in sources or file in errors:
                continue
            try:
                source = sources[name] = file.read_bytes()
                wanted += _imported(source, name, file)
            except (OSError, SyntaxError, ValueError, RecursionError) as error:
                errors[file] = _words(error)
    return LocalModules(sources, errors)


def _files(module: str, path: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """The files of the module and of the packages around it, in the first directory that has one of its name."""
    parts = module.split(".")
    if parts[0] == "restow":
        return
    for entry in path:
        if (entry / parts[0]).is_dir() or (entry / f"{parts[0]}.py").is_file():
            for length in range(1, len(parts) + 1):
                base = "/".join(parts[:length])
                found = (name for name in (f"{base}/__init__.py", f"{base}.py") if (entry / name).is_file())
                if (name := next(found, None)) is not None:
                    yield name, entry / name
            return


def _imported(source: bytes, name: str, file: Path) -> Iterator[str]:
    """The modules that a source may import: `from a import b` may mean the module a.b."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source, str(file))
        compile(tree, str(file), "exec")  # finds what the parser lets pass, such as a return outside a function
    package = name.split("/")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            if base:
                yield base
            yield from (f"{base}.{alias.name}" if base else alias.name for alias in node.names if alias.name != "*")


def _words(error: Exception) -> str:
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}, line {error.lineno}"
    return f"{type(error).__name__}: {error}"
