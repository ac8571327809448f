"""Types of JSON values, inferred from a sample, in Spark's DDL.

A type is chosen only if every sampled value has it; otherwise values are text, which every JSON value can be read as.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

MOST_NESTED: Final = 50
"""An object with more keys has data in its keys, such as ids: it is kept as text."""
ZONED: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)")
"""A time with its zone. One without could mean any zone, and stays text."""
UNUSABLE: Final = re.compile(r"[ ,;{}()=.`]")
"""Characters that a Delta table's column can't have, or that every query would have to quote."""


@dataclass(frozen=True, slots=True)
class Struct:
    """An object with known keys."""

    fields: tuple[tuple[str, "Type"], ...]


@dataclass(frozen=True, slots=True)
class Array:
    items: "Type"


@dataclass(frozen=True, slots=True)
class Scalar:
    ddl: str
    """The type in Spark's DDL."""


@dataclass(frozen=True, slots=True)
class Mixed:
    """Values of several types, or of none that is known. They are read as text."""


Type = Struct | Array | Scalar | Mixed


def type_of(values: Sequence[Any]) -> str:
    """The narrowest type that holds all of them, in Spark's DDL."""
    return ddl_of(inferred_type(values))


def inferred_type(values: Sequence[Any]) -> Type:
    present = [value for value in values if value is not None]
    kinds = {type(value) for value in present}
    if kinds == {bool}:
        return Scalar("boolean")
    if kinds == {int}:
        return _whole(present)
    if kinds and kinds <= {int, float}:
        return Scalar("double")
    if kinds == {str}:
        return Scalar("timestamp") if all(map(ZONED.fullmatch, present)) else Scalar("string")
    if kinds == {dict}:
        return _struct(present)
    if kinds == {list}:
        return Array(inferred_type([item for value in present for item in value]))
    return Mixed()


def ddl_of(kind: Type) -> str:
    match kind:
        case Scalar(ddl):
            return ddl
        case Mixed():
            return "string"
        case Array(items):
            return f"array<{ddl_of(items)}>"
        case Struct(fields):
            return f"struct<{', '.join(f'{quoted(key)}: {ddl_of(inner)}' for key, inner in fields)}>"


def _whole(values: Sequence[int]) -> Type:
    longest = max(map(abs, values))
    if longest < 1 << 63:
        return Scalar("bigint")
    return Scalar("decimal(38,0)") if longest < 10**38 else Mixed()


def _struct(objects: Sequence[Mapping[str, Any]]) -> Type:
    keys = list(dict.fromkeys(key for each in objects for key in each))
    are_usable = all(is_usable(key) and not UNUSABLE.search(key) for key in keys)
    is_unique = len({key.lower() for key in keys}) == len(keys)
    if not (0 < len(keys) <= MOST_NESTED and are_usable and is_unique):
        return Mixed()
    return Struct(tuple((key, inferred_type([each[key] for each in objects if key in each])) for key in keys))


def is_usable(key: str) -> bool:
    """Whether a key can name a column, perhaps with other characters in place of some."""
    return key.isprintable() and key.strip() != ""


def quoted(name: str) -> str:
    """A name in Spark's DDL."""
    return f"`{name.replace('`', '``')}`"
