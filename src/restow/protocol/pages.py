"""Docstrings and Markdown tables for the pages of docs/ that are generated from the code.

protocol/reference.py and controller/diagram.py generate a page each.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Docs:
    """The docstrings of a class and its fields."""

    text: str
    of_field: Mapping[str, str]
    """The docstring below each field, or member of an enum, by its name."""


def docs_of(source: str) -> Iterator[tuple[str, Docs]]:
    """The docstrings of each class in the text of a module."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            of_field = {
                name: one_line(after.value.value)
                for before, after in zip(node.body, node.body[1:], strict=False)
                if (name := _assigned(before)) is not None
                if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            }
            yield node.name, Docs(one_line(ast.get_docstring(node) or ""), of_field)


def _assigned(node: ast.stmt) -> str | None:
    target = (
        node.target if isinstance(node, ast.AnnAssign) else node.targets[0] if isinstance(node, ast.Assign) else None
    )
    return target.id if isinstance(target, ast.Name) else None


def one_line(text: object) -> str:
    return " ".join(str(text).split())


def table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)
