"""Schema evolution: whether a batch fits a table, and which columns have to be added to the table first.

Spark and Delta write schemas as the same JSON. The rules:

- every column that restow creates is nullable, at every depth: nothing checks the files that Spark writes;
- a column, or a field of a struct, that the table lacks is added, unless the topic has `evolve = "none"`; a column that
  the batch lacks is null in its rows;
- a type of the batch that the table's type includes is widened to it before files are written. The table's own types
  never change: engines disagree on how they read such a column (docs/decisions/074-evolving-tables.md);
- any other difference is refused, with both schemas.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from restow.pipeline.delta.errors import DeltaTableError, SchemasDiffer
from restow.pipeline.sinks import NO_RULES, TableRules

SIMPLE_TYPES: Final = frozenset(
    [
        *("string", "binary", "boolean", "date", "timestamp", "timestamp_ntz"),
        *("long", "integer", "short", "byte", "float", "double", "decimal"),
    ]
)
UNENFORCED: Final = ("delta.invariants", "delta.generationExpression", "delta.identity.start")
"""Constraints of a column that restow does not enforce."""

INTEGERS: Final = {"byte": 3, "short": 5, "integer": 10, "long": 19}
"""With the most digits of their values."""
DECIMAL: Final = re.compile(r"decimal\((\d+), ?(\d+)\)")
PARTITION_TYPES: Final = ("string", "date", "boolean", *INTEGERS)
"""Their values have one text, which is the same to all engines."""
LONGEST_WORDS: Final = 2000

Type = str | dict[str, Any]
Fields = list[dict[str, Any]]


def table_columns(schema: str, rules: TableRules = NO_RULES) -> Fields:
    """The columns of a table that is created for a batch of this schema. Raises DeltaTableError."""
    fields = _fields(schema)
    _refuse_repeated(fields)
    check_partitions(fields, rules.partition_columns)
    return [_nullable(field) for field in fields]


class Fit(NamedTuple):
    """How a batch becomes part of a table."""

    added: Fields
    """The columns to add to the table, or to replace in it where a struct lacks fields."""
    casts: dict[str, str]
    """The columns of the batch that have to be cast before they are written: the wider type, in Spark's SQL."""


def fit(table: str, batch: str, rules: TableRules = NO_RULES) -> Fit:
    """Raises SchemasDiffer if the batch can't be stored, and DeltaTableError if no table could store it."""
    columns = table_columns(batch, rules)
    try:
        found = _fit(table, columns, batch)
        if found.added and not rules.may_add_columns:
            names = ", ".join(field["name"] for field in found.added)
            raise DeltaTableError(
                f'the batch has {names}, which the table lacks, and evolve is "none"; leave it out in the transform, '
                'or write evolve = "add columns"'
            )
    except DeltaTableError as error:
        raise SchemasDiffer(str(error), in_words(_fields(table)), in_words(_fields(batch))) from None
    return found


def _fit(table: str, columns: Fields, batch: str) -> Fit:
    have = {field["name"]: field for field in _fields(table)}
    folded = {name.lower(): name for name in have}
    found = Fit([], {})
    for field in columns:
        name = field["name"]
        if name not in have and name.lower() in folded:
            raise DeltaTableError(f"column {name} is called {folded[name.lower()]} in the table; give it that name")
        if name not in have:
            found.added.append(field)
            continue
        merged = _merged(name, have[name]["type"], field["type"])
        if _text(merged.in_table) != _text(have[name]["type"]):
            found.added.append({**have[name], "type": merged.in_table})
        if _text(merged.written) != _text(field["type"]):
            found.casts[name] = _sql(merged.written)
    for name in sorted(set(have) - {field["name"] for field in _fields(batch) if not field["nullable"]}):
        if not have[name]["nullable"]:
            raise DeltaTableError(
                f"column {name} may not be null in the table, but it is nullable or missing in the batch"
            )
    return found


def check_partitions(fields: Fields, columns: Sequence[str]) -> None:
    """Raises DeltaTableError if a table can't be partitioned by these columns."""
    kinds = {field["name"]: field["type"] for field in fields}
    for column in columns:
        if column not in kinds:
            raise DeltaTableError(f"partition_by has {column}, but the rows have only {', '.join(kinds)}")
        if kinds[column] not in PARTITION_TYPES:
            raise DeltaTableError(
                f"partition_by has {column}, which is {_text(kinds[column])}; it must be {', '.join(PARTITION_TYPES)}"
            )
    if columns and len(columns) == len(fields):
        raise DeltaTableError("partition_by has all columns of the rows; at least one must be left for the files")


def constraints(schema: str) -> Iterator[str]:
    """Column constraints that restow does not enforce, as texts."""
    for field in _fields(schema):
        for constraint in UNENFORCED:
            if constraint in field["metadata"]:
                yield f"column {field['name']} has {constraint}"


def as_json(fields: Fields) -> str:
    return json.dumps({"type": "struct", "fields": fields})


def _fields(schema: str) -> Fields:
    fields: Fields = json.loads(schema)["fields"]
    return fields


def _refuse_repeated(fields: Fields) -> None:
    names: dict[str, str] = {}
    for field in fields:
        name = field["name"]
        if name.lower() in names:
            first = names[name.lower()]
            raise DeltaTableError(f"columns {first} and {name} of the batch differ only in case; rename one of them")
        names[name.lower()] = name


def _nullable(field: dict[str, Any], path: str = "") -> dict[str, Any]:
    path += field["name"]
    return {"name": field["name"], "type": _nullable_type(path, field["type"]), "nullable": True, "metadata": {}}


def _nullable_type(path: str, of: Type) -> Type:
    if isinstance(of, str):
        if of.partition("(")[0] not in SIMPLE_TYPES:
            raise DeltaTableError(
                f"column {path} of the batch is {of}, which Delta does not support; cast it in the transform"
            )
        return of
    match of["type"]:
        case "struct":
            return {"type": "struct", "fields": [_nullable(field, f"{path}.") for field in of["fields"]]}
        case "array":
            element = _nullable_type(f"{path}.element", of["elementType"])
            return {"type": "array", "elementType": element, "containsNull": True}
        case "map":
            key, value = _nullable_type(f"{path}.key", of["keyType"]), _nullable_type(f"{path}.value", of["valueType"])
            return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}
        case other:
            raise DeltaTableError(
                f"column {path} of the batch is {other}, which Delta does not support; cast it in the transform"
            )


class Merged(NamedTuple):
    in_table: Type
    written: Type


def _merged(path: str, have: Type, wanted: Type) -> Merged:
    """The table's type with the fields that it lacks, and the batch's with the table's wider types."""
    if _text(have) == _text(wanted):
        return Merged(have, wanted)
    if isinstance(have, str) and isinstance(wanted, str) and _includes(have, wanted):
        return Merged(have, have)
    if isinstance(have, dict) and isinstance(wanted, dict) and have["type"] == wanted["type"] == "struct":
        return _merged_structs(path, have, wanted)
    if isinstance(have, dict) and isinstance(wanted, dict) and have["type"] == wanted["type"] == "array":
        element = _merged(f"{path}.element", have["elementType"], wanted["elementType"])
        if _text(element.in_table) == _text(have["elementType"]):
            return Merged(have, {**wanted, "elementType": element.written})
    raise DeltaTableError(
        f"column {path} is {_text(have)} in the table and {_text(wanted)} in the batch; "
        "cast it in the transform, or name another table"
    )


def _merged_structs(path: str, have: dict[str, Any], wanted: dict[str, Any]) -> Merged:
    fields = {field["name"]: field for field in have["fields"]}
    written = []
    for field in wanted["fields"]:
        name = field["name"]
        both = _merged(f"{path}.{name}", fields[name]["type"], field["type"]) if name in fields else None
        fields[name] = {**fields[name], "type": both.in_table} if both else field
        written.append({**field, "type": both.written} if both else field)
    return Merged({**have, "fields": list(fields.values())}, {**wanted, "fields": written})


def _includes(wide: str, narrow: str) -> bool:
    """Whether every value of the narrow type is one of the wide type."""
    if narrow in INTEGERS and wide in INTEGERS:
        return INTEGERS[wide] >= INTEGERS[narrow]
    if (digits := _decimal(wide)) is not None:
        least = (INTEGERS[narrow], 0) if narrow in INTEGERS else _decimal(narrow)
        return least is not None and digits[0] >= least[0] and digits[1] >= least[1]
    return (narrow, wide) in (("float", "double"), *((name, "double") for name in ("byte", "short", "integer")))


def _decimal(of: str) -> tuple[int, int] | None:
    """Digits before and after the point."""
    found = DECIMAL.fullmatch(of)
    return (int(found[1]) - int(found[2]), int(found[2])) if found else None


def in_words(fields: Fields) -> str:
    """(id string, amount double)."""
    words = ", ".join(f"{field['name']} {_text(field['type'])}" for field in fields)
    return f"({words if len(words) <= LONGEST_WORDS else f'{words[:LONGEST_WORDS]} …'})"


def _sql(of: Type) -> str:
    """A type in Spark's SQL."""
    if isinstance(of, str):
        return of
    match of["type"]:
        case "struct":
            quoted = ((field["name"].replace("`", "``"), field["type"]) for field in of["fields"])
            return f"struct<{', '.join(f'`{name}`: {_sql(kind)}' for name, kind in quoted)}>"
        case "array":
            return f"array<{_sql(of['elementType'])}>"
        case _:
            return f"map<{_sql(of['keyType'])}, {_sql(of['valueType'])}>"


def _text(of: Type) -> str:
    """As Spark prints it, without nullability."""
    if isinstance(of, str):
        return of
    match of["type"]:
        case "struct":
            fields = (f"{field['name']}: {_text(field['type'])}" for field in of["fields"])
            return f"struct<{', '.join(fields)}>"
        case "array":
            return f"array<{_text(of['elementType'])}>"
        case _:
            return f"map<{_text(of['keyType'])}, {_text(of['valueType'])}>"
