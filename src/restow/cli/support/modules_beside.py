"""Finds the Python modules beside restow.toml that its transforms need: their own modules, and what those import.

`restow manifests` puts them into the ConfigMap, which holds files but no directories: a package belongs in the image.
"""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from restow.errors import InvalidInput
from restow.settings import Settings


class Modules(NamedTuple):
    beside: dict[str, str]
    """Source text by file name."""
    elsewhere: tuple[str, ...]
    """Modules of transforms that don't lie beside restow.toml."""


def modules_of(settings: Settings, directory: Path) -> Modules:
    named = sorted({service.transform.partition(":")[0] for service in settings.consume.values() if service.transform})
    found: dict[str, str] = {}
    _follow((name for name in named if "." not in name), directory, found)
    return Modules(dict(sorted(found.items())), tuple(name for name in named if f"{name}.py" not in found))


def _follow(names: Iterable[str], directory: Path, found: dict[str, str]) -> None:
    for name in names:
        file = directory / f"{name}.py"
        if file.name in found or not file.is_file():
            continue
        try:
            text = file.read_text(encoding="utf-8")
            imported = sorted(set(_imports(ast.parse(text))))
        except (OSError, UnicodeDecodeError, SyntaxError, ValueError) as error:
            raise InvalidInput(f"{file} can't be read as a Python module: {error}") from None
        found[file.name] = text
        _follow(imported, directory, found)


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
