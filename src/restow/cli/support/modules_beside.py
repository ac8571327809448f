"""Finds the Python modules beside restow.toml that its transforms need: their own modules, and what those import.

`restow manifests` puts them into the ConfigMap, which holds files but no directories: a package belongs in the image.
"""

from pathlib import Path
from typing import NamedTuple

from restow.cli.support.local_modules import modules_in, schemas_in, transform_modules
from restow.errors import InvalidInput
from restow.settings import Settings
from restow.settings.paths import is_relative


class Modules(NamedTuple):
    beside: dict[str, str]
    """Source text by file name."""
    elsewhere: tuple[str, ...]
    """Modules of transforms that don't lie beside restow.toml."""


def modules_of(settings: Settings, directory: Path) -> Modules:
    named = transform_modules(settings)
    found = modules_in((directory,), (name for name in named if "." not in name))
    for file, reason in found.errors.items():
        raise InvalidInput(f"{file} can't be read as a Python module: {reason}")
    sources = {**found.sources, **_schemas(settings, directory)}
    flat = {name: _text(directory / name, source) for name, source in sorted(sources.items()) if "/" not in name}
    return Modules(flat, tuple(name for name in named if f"{name}.py" not in flat))


def _schemas(settings: Settings, directory: Path) -> dict[str, bytes]:
    """Raises InvalidInput if pods would not find one."""
    found = schemas_in(directory, settings)
    for name, service in settings.consume.items():
        path = service.schema
        if path is not None and is_relative(path) and ("/" in path or path not in found):
            raise InvalidInput(
                f'[consume.{name}] schema = "{path}" can\'t be put into a ConfigMap; put the file beside restow.toml, '
                "or write the absolute path that it has in the image"
            )
    return {path: content for path, content in found.items() if is_relative(path)}


def _text(file: Path, source: bytes) -> str:
    try:
        return source.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file} is not UTF-8 text: {error.reason}; a ConfigMap holds text") from None
