"""Schema evolution: whether a batch fits a table, and which columns have to be added to the table first.

Spark and Delta write schemas as the same JSON. The rules:

- every column that restow creates is nullable, at every depth: nothing checks the files that Spark writes;
- a column, or a field of a struct, that the table lacks is added; one that the batch lacks is null in its rows;
- any other difference is refused. A type is never widened: engines disagree on how they read such a column.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from restow.pipeline.delta.errors import DeltaTableError

SIMPLE_TYPES: Final = frozenset(
    [
        *("string", "binary", "boolean", "date", "timestamp", "timestamp_ntz"),
        *("long", "integer", "short", "byte", "float", "double", "decimal"),
    ]
)
UNENFORCED: Final = ("delta.invariants", "delta.generationExpression", "delta.identity.start")
"""Constraints of a column that restow does not enforce."""

Type = str | dict[str, Any]
Fields = list[dict[str, Any]]


def table_columns(schema: str) -> Fields:
    """The columns of a table that is created for a batch of this schema."""
    fields = _fields(schema)
    _refuse_repeated(fields)
    return [_nullable(field) for field in fields]


def missing_columns(table: str, batch: str) -> Fields:
    """The columns to add to the table, or to replace in it where a struct lacks fields. Raises DeltaTableError if the
    batch can't be stored."""
    have = {field["name"]: field for field in _fields(table)}
    folded = {name.lower(): name for name in have}
    found = []
    for field in table_columns(batch):
        name = field["name"]
        if name not in have and name.lower() in folded:
            raise DeltaTableError(f"column {name} is called {folded[name.lower()]} in the table; give it that name")
        if name not in have:
            found.append(field)
        elif grown := _with_missing_fields(name, have[name]["type"], field["type"]):
            found.append({**have[name], "type": grown})
    for name in sorted(set(have) - {field["name"] for field in _fields(batch) if not field["nullable"]}):
        if not have[name]["nullable"]:
            raise DeltaTableError(
                f"column {name} may not be null in the table, but it is nullable or missing in the batch"
            )
    return found


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


def _with_missing_fields(path: str, have: Type, wanted: Type) -> Type | None:
    """The table's type with the fields that it lacks; None if it lacks none."""
    if _text(have) == _text(wanted):
        return None
    if isinstance(have, dict) and isinstance(wanted, dict) and have["type"] == wanted["type"] == "struct":
        fields = {field["name"]: field for field in have["fields"]}
        lacks = False
        for field in wanted["fields"]:
            if (name := field["name"]) not in fields:
                fields[name], lacks = field, True
            elif grown := _with_missing_fields(f"{path}.{name}", fields[name]["type"], field["type"]):
                fields[name], lacks = {**fields[name], "type": grown}, True
        return {"type": "struct", "fields": list(fields.values())} if lacks else None
    raise DeltaTableError(
        f"column {path} is {_text(have)} in the table and {_text(wanted)} in the batch; "
        "cast it in the transform, or name another table"
    )


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
