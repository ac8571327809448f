"""Which of a person's modules lie beside restow.toml: those that its transforms are in, and what those import.

`restow manifests` puts them into the ConfigMap, whose keys are files. A package, which is a directory, has no place in
it and belongs in the image.
"""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from restow.errors import InvalidInput
from restow.settings import Settings


class Modules(NamedTuple):
    beside: dict[str, str]
    """The text of each, by the name of its file."""
    elsewhere: tuple[str, ...]
    """Those of the transforms that are not there."""


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
            raise InvalidInput(f"{file} can't be read as a module of Python: {error}") from None
        found[file.name] = text
        _follow(imported, directory, found)


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
