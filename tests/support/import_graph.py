"""The modules of src/restow, their imports, and cycles between its top-level packages: for tests/test_imports.py.

Every import counts: also one inside a function or behind TYPE_CHECKING.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.paths import ROOT

SOURCE = ROOT / "src"


class Import(NamedTuple):
    module: str
    lineno: int
    imported: str
    """The full name of what the line imports: a module, or a name in one."""


def modules() -> list[tuple[str, Path]]:
    """The name and the file of every module and package."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return found


def imports_of(tree: ast.AST, module: str, is_package: bool) -> Iterator[Import]:
    package = module if is_package else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(module, node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            up = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            origin = ".".join([*up, *([node.module] if node.module else [])])
            yield from (Import(module, node.lineno, f"{origin}.{alias.name}") for alias in node.names)


def all_imports() -> Iterator[Import]:
    for module, path in modules():
        yield from imports_of(ast.parse(path.read_text()), module, is_package=path.name == "__init__.py")


def package_cycles(imports: Iterable[Import], top: str = "restow") -> list[str]:
    """One text per set of top-level packages (or modules) that import each other, with the imports among them."""
    between = [
        (source, target, each)
        for each in imports
        if (source := _unit(each.module, top)) and (target := _unit(each.imported, top)) and source != target
    ]
    targets: dict[str, set[str]] = {}
    for source, target, _ in between:
        targets.setdefault(source, set()).add(target)
    reached = {source: _reached_from(source, targets) for source in targets}
    cycles = {
        tuple(sorted(other for other in reached[unit] if unit in reached.get(other, ())))
        for unit in reached
        if unit in reached[unit]
    }
    return [
        "\n  ".join(
            [
                f"{' and '.join(cycle)} import each other:",
                *(
                    f"{each.module}:{each.lineno} -> {each.imported}"
                    for source, target, each in sorted(between)
                    if source in cycle and target in cycle
                ),
            ]
        )
        for cycle in sorted(cycles)
    ]


def _unit(name: str, top: str) -> str | None:
    """The top-level package or module that a name belongs to. The root package is none: every import loads it."""
    parts = name.split(".")
    return ".".join(parts[:2]) if parts[0] == top and len(parts) > 1 else None


def _reached_from(start: str, targets: dict[str, set[str]]) -> set[str]:
    """What `start` imports, directly or through others; `start` itself only where a cycle leads back to it."""
    reached: set[str] = set()
    frontier = [start]
    while frontier:
        new = targets.get(frontier.pop(), set()) - reached
        reached |= new
        frontier += new
    return reached


def undocumented_members(directory: Path) -> list[str]:
    """Modules (`name.py`) and sub-packages (`name/`) of a package that its docstring does not name."""
    text = ast.get_docstring(ast.parse((directory / "__init__.py").read_text())) or ""
    members = [path.name for path in directory.glob("*.py") if path.name != "__init__.py"]
    members += [f"{path.parent.name}/" for path in directory.glob("*/__init__.py")]
    return sorted(member for member in members if not re.search(rf"(?<![\w/]){re.escape(member)}(?!\w)", text))
