"""Columns and their types, as Spark's DDL has them, from a sample of JSON records.

A type is chosen only if every sampled value has it; otherwise the column is text, which every JSON value can be read
as. A record that has another type later gives null there.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from restow.starter.types import UNUSABLE, Type, ddl_of, inferred_type, is_usable

OWN: Final = frozenset(["_topic", "_partition", "_offset", "_timestamp", "_key", "_value", "_headers", "_error"])
"""Columns that restow adds to each row, or to the records that a transform gets."""
MOST_COLUMNS: Final = 300
JSON_SHARE: Final = 0.8
"""At least this share of the sample must be JSON objects, else the topic is not taken for JSON."""

Kind = Literal["json", "text", "binary", "empty", "unknown"]


@dataclass(frozen=True, slots=True)
class Column:
    key: str
    """In the JSON object."""
    name: str
    """In the table."""
    kind: Type

    @property
    def type(self) -> str:
        """In Spark's DDL."""
        return ddl_of(self.kind)


@dataclass(frozen=True, slots=True)
class Shape:
    """What the values of a topic look like."""

    kind: Kind
    columns: tuple[Column, ...] = ()
    left_out: tuple[str, ...] = field(default=())
    """Keys that can't be columns."""
    sampled: int = 0
    unparsed: int = 0
    """Of the sampled records, how many are no JSON objects."""

    @property
    def words(self) -> str:
        match self.kind:
            case "json":
                return f"JSON, {len(self.columns)} columns" if len(self.columns) != 1 else "JSON, 1 column"
            case "empty":
                return "no records"
            case "unknown":
                return "not looked at"
            case kind:
                return kind


def shape_of(values: Iterable[bytes | None]) -> Shape:
    """From the values of sampled records; None are tombstones, which tell nothing."""
    present = [value for value in values if value is not None]
    if not present:
        return Shape("empty")
    objects = [parsed for value in present if isinstance(parsed := _parsed(value), dict) and parsed]
    if len(objects) >= JSON_SHARE * len(present):
        columns, left_out = _columns(objects)
        if columns:
            return Shape("json", columns, left_out, len(present), len(present) - len(objects))
    return Shape("text" if all(map(_is_text, present)) else "binary", sampled=len(present))


def _parsed(value: bytes) -> object:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _is_text(value: bytes) -> bool:
    try:
        return "\0" not in value.decode()
    except UnicodeDecodeError:
        return False


def _columns(objects: Sequence[Mapping[str, Any]]) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    found: dict[str, Column] = {}
    left_out: list[str] = []
    for key in dict.fromkeys(key for each in objects for key in each):
        name = UNUSABLE.sub("_", key)
        # Spark's names are the same in upper and lower case.
        if not is_usable(key) or name.lower() in found or name in OWN or len(found) == MOST_COLUMNS:
            left_out.append(key)
        else:
            found[name.lower()] = Column(key, name, inferred_type([each[key] for each in objects if key in each]))
    return tuple(found.values()), tuple(left_out)
