"""The JSON Schema of a sample of records, which `restow check --infer` writes for `format = "json"`.

It has what the sample shows: keys and types. No key is required, because a sample can't tell that none will miss it.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from restow.starter.columns import Shape
from restow.starter.types import Array, Mixed, Scalar, Struct, Type

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
LARGEST_WHOLE: Final = 10**38 - 1
SCALARS: Final[Mapping[str, Mapping[str, Any]]] = {
    "boolean": {"type": "boolean"},
    "bigint": {"type": "integer"},
    "decimal(38,0)": {"type": "integer", "maximum": LARGEST_WHOLE},
    "double": {"type": "number"},
    "timestamp": {"type": "string", "format": "date-time"},
    "string": {"type": "string"},
}
"""By the type in Spark's DDL."""


def schema_text(shape: Shape, title: str) -> str:
    """`shape` is of JSON objects."""
    properties = {column.key: _schema(column.kind) for column in shape.columns}
    schema = {"$schema": DIALECT, "title": title, "type": "object", "properties": properties}
    return f"{json.dumps(schema, indent=2, ensure_ascii=False)}\n"


def _schema(kind: Type) -> dict[str, Any]:
    match kind:
        case Mixed():
            return {}
        case Scalar(ddl):
            return dict(SCALARS[ddl])
        case Array(items):
            return {"type": "array", "items": _schema(items)}
        case Struct(fields):
            return {"type": "object", "properties": {key: _schema(inner) for key, inner in fields}}
