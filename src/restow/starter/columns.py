"""Columns and their types, as Spark's DDL has them, from a sample of JSON records.

A type is chosen only if every sampled value has it; otherwise the column is text, which every JSON value can be read
as. A record that has another type later gives null there.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

LINEAGE: Final = frozenset(["_topic", "_partition", "_offset", "_timestamp"])
"""Columns that restow adds to each row."""
MOST_COLUMNS: Final = 300
MOST_NESTED: Final = 50
"""An object with more keys has data in its keys, such as ids: it is kept as text."""
JSON_SHARE: Final = 0.8
"""At least this share of the sample must be JSON objects, else the topic is not taken for JSON."""
ZONED: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)")
"""A time with its zone. One without could mean any zone, and stays text."""
UNUSABLE: Final = re.compile(r"[ ,;{}()=.`]")
"""Characters that a Delta table's column can't have, or that every query would have to quote."""

Kind = Literal["json", "text", "binary", "empty", "unknown"]


@dataclass(frozen=True, slots=True)
class Column:
    key: str
    """In the JSON object."""
    name: str
    """In the table."""
    type: str


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
        if not _is_usable(key) or name.lower() in found or name in LINEAGE or len(found) == MOST_COLUMNS:
            left_out.append(key)
        else:
            found[name.lower()] = Column(key, name, type_of([each[key] for each in objects if key in each]))
    return tuple(found.values()), tuple(left_out)


def _is_usable(key: str) -> bool:
    return key.isprintable() and key.strip() != ""


def type_of(values: Sequence[Any]) -> str:
    """The narrowest type that holds all of them."""
    present = [value for value in values if value is not None]
    kinds = {type(value) for value in present}
    if kinds == {bool}:
        return "boolean"
    if kinds == {int}:
        return _whole(present)
    if kinds and kinds <= {int, float}:
        return "double"
    if kinds == {str}:
        return "timestamp" if all(map(ZONED.fullmatch, present)) else "string"
    if kinds == {dict}:
        return _struct(present)
    if kinds == {list}:
        return f"array<{type_of([item for value in present for item in value])}>"
    return "string"


def _whole(values: Sequence[int]) -> str:
    longest = max(map(abs, values))
    if longest < 1 << 63:
        return "bigint"
    return "decimal(38,0)" if longest < 10**38 else "string"


def _struct(objects: Sequence[Mapping[str, Any]]) -> str:
    keys = list(dict.fromkeys(key for each in objects for key in each))
    are_usable = all(_is_usable(key) and not UNUSABLE.search(key) for key in keys)
    is_unique = len({key.lower() for key in keys}) == len(keys)
    if not (0 < len(keys) <= MOST_NESTED and are_usable and is_unique):
        return "string"
    return f"struct<{', '.join(f'{quoted(key)}: {type_of([o[key] for o in objects if key in o])}' for key in keys)}>"


def quoted(name: str) -> str:
    """A name in Spark's DDL."""
    return f"`{name.replace('`', '``')}`"
