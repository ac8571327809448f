"""Does a batch fit a table, and which columns does the table lack? Called by `delta.py` before files become a table's.

Spark and Delta write schemas as the same JSON. What is decided here is the same for both:

- every column that restow makes may be null, at every depth: Spark writes the files, and nobody checks them again;
- a column, or a field of a struct, that the table lacks is added to it; one that the batch lacks is null in its rows;
- anything else that differs is refused. A type is never widened: engines disagree on what they read then.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from restow.pipeline.table import TableTrouble

SIMPLE_TYPES: Final = frozenset(
    [
        *("string", "binary", "boolean", "date", "timestamp", "timestamp_ntz"),
        *("long", "integer", "short", "byte", "float", "double", "decimal"),
    ]
)
UNCHECKED: Final = ("delta.invariants", "delta.generationExpression", "delta.identity.start")
"""What a table may demand of a column, and nobody would look after when Spark writes its files."""

Type = str | dict[str, Any]
Fields = list[dict[str, Any]]


def made_of(schema: str) -> Fields:
    """The columns of a table that is made for such a batch."""
    fields = _fields(schema)
    _refuse_repeated(fields)
    return [_nullable(field) for field in fields]


def lacking(table: str, batch: str) -> Fields:
    """The columns of the batch that the table lacks, wholly or in part, as the table should have them."""
    have = {field["name"]: field for field in _fields(table)}
    folded = {name.lower(): name for name in have}
    found = []
    for field in made_of(batch):
        name = field["name"]
        if name not in have and name.lower() in folded:
            raise TableTrouble(f"column {name} is called {folded[name.lower()]} in the table; give it that name")
        if name not in have:
            found.append(field)
        elif grown := _grown(name, have[name]["type"], field["type"]):
            found.append({**have[name], "type": grown})
    for name in sorted(set(have) - {field["name"] for field in _fields(batch) if not field["nullable"]}):
        if not have[name]["nullable"]:
            raise TableTrouble(
                f"column {name} may not be null in the table, and nothing says that it isn't in the batch"
            )
    return found


def demands(schema: str) -> Iterator[str]:
    """What the table demands of its columns that can't be looked after."""
    for field in _fields(schema):
        for demand in UNCHECKED:
            if demand in field["metadata"]:
                yield f"column {field['name']} has {demand}"


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
            raise TableTrouble(f"columns {names[name.lower()]} and {name} of the batch have one name to a table")
        names[name.lower()] = name


def _nullable(field: dict[str, Any], path: str = "") -> dict[str, Any]:
    path += field["name"]
    return {"name": field["name"], "type": _loose(path, field["type"]), "nullable": True, "metadata": {}}


def _loose(path: str, of: Type) -> Type:
    if isinstance(of, str):
        if of.partition("(")[0] not in SIMPLE_TYPES:
            raise TableTrouble(f"column {path} of the batch is {of}, which no table has; cast it in the transform")
        return of
    match of["type"]:
        case "struct":
            return {"type": "struct", "fields": [_nullable(field, f"{path}.") for field in of["fields"]]}
        case "array":
            element = _loose(f"{path}.element", of["elementType"])
            return {"type": "array", "elementType": element, "containsNull": True}
        case "map":
            key, value = _loose(f"{path}.key", of["keyType"]), _loose(f"{path}.value", of["valueType"])
            return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}
        case other:
            raise TableTrouble(f"column {path} of the batch is {other}, which no table has; cast it in the transform")


def _grown(path: str, have: Type, wanted: Type) -> Type | None:
    """The table's type with the fields that it lacks; None: it lacks nothing."""
    if _spelled(have) == _spelled(wanted):
        return None
    if isinstance(have, dict) and isinstance(wanted, dict) and have["type"] == wanted["type"] == "struct":
        fields = {field["name"]: field for field in have["fields"]}
        lacks = False
        for field in wanted["fields"]:
            if (name := field["name"]) not in fields:
                fields[name], lacks = field, True
            elif grown := _grown(f"{path}.{name}", fields[name]["type"], field["type"]):
                fields[name], lacks = {**fields[name], "type": grown}, True
        return {"type": "struct", "fields": list(fields.values())} if lacks else None
    raise TableTrouble(
        f"column {path} is {_spelled(have)} in the table and {_spelled(wanted)} in the batch; "
        "cast it in the transform, or name another table"
    )


def _spelled(of: Type) -> str:
    """As people and Spark write it. Whether something may be null is no part of it."""
    if isinstance(of, str):
        return of
    match of["type"]:
        case "struct":
            fields = (f"{field['name']}: {_spelled(field['type'])}" for field in of["fields"])
            return f"struct<{', '.join(fields)}>"
        case "array":
            return f"array<{_spelled(of['elementType'])}>"
        case _:
            return f"map<{_spelled(of['keyType'])}, {_spelled(of['valueType'])}>"
