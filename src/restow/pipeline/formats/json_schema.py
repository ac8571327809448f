"""Turns a JSON Schema, or Spark's DDL, into the columns of JSON records.

`type` gives a column's type; `format: date-time` makes text a timestamp. What has several types, or none, is text:
every JSON value can be read as text. References within the document are followed.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from restow.pipeline.formats.errors import SchemaError
from restow.starter.columns import OWN
from restow.starter.types import UNUSABLE, quoted

DEEPEST: Final = 20
"""A schema that refers to itself is cut off here, and read as text below."""
LARGEST_LONG: Final = 2**63 - 1
FORMATS: Final = {"date-time": "timestamp", "date": "date"}
SCALARS: Final = {"boolean": "boolean", "number": "double"}


@dataclass(frozen=True, slots=True)
class JsonColumn:
    key: str
    """In the JSON object."""
    name: str
    """In the table."""
    type: str
    """In Spark's DDL."""
    is_required: bool = False
    """A record without it doesn't parse."""


def columns_of(text: str, where: str) -> tuple[JsonColumn, ...]:
    """`where` names the schema in error messages. Raises SchemaError."""
    try:
        schema = json.loads(text)
    except ValueError as error:
        raise SchemaError(f"{where} is not a JSON Schema: {error}") from None
    if not isinstance(schema, dict):
        raise SchemaError(f"{where} is not a JSON Schema; it must be an object")
    columns = tuple(Reader(schema).columns())
    if not columns:
        raise SchemaError(f"{where} has no properties; it must be a JSON Schema of an object with some")
    check_names((column.name for column in columns), where)
    return columns


def check_names(names: Iterator[str], where: str) -> None:
    """Raises SchemaError if two columns would have one name, or one the name of a column of restow's own."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in OWN:
            raise SchemaError(f"{where} has a field {name}, which is a name of restow's own; it must have another one")
        if name.lower() in seen:
            raise SchemaError(
                f"{where} has two fields that make the column {name}; names must differ in more than case"
            )
        seen.add(name.lower())


class Reader:
    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document

    def columns(self) -> Iterator[JsonColumn]:
        schema = self._resolved(self._document)
        required = schema.get("required", ())
        for key, inner in schema.get("properties", {}).items():
            kind = self._type(inner, DEEPEST)
            yield JsonColumn(key, UNUSABLE.sub("_", key), kind, key in required and not _may_be_null(inner))

    def _type(self, schema: object, left: int) -> str:
        schema = self._resolved(schema)
        kind = _kind(schema)
        if kind is None or not left:
            return "string"
        if kind == "object":
            return self._object(schema, left - 1)
        if kind == "array":
            return f"array<{self._type(schema.get('items'), left - 1)}>"
        if kind == "integer":
            is_long = max(abs(schema.get(limit, 0)) for limit in ("minimum", "maximum")) <= LARGEST_LONG
            return "bigint" if is_long else "decimal(38,0)"
        if kind == "string":
            return FORMATS.get(str(schema.get("format")), "string")
        return SCALARS.get(kind, "string")

    def _object(self, schema: Mapping[str, Any], left: int) -> str:
        properties, others = schema.get("properties"), schema.get("additionalProperties")
        if properties:
            return (
                f"struct<{', '.join(f'{quoted(key)}: {self._type(each, left)}' for key, each in properties.items())}>"
            )
        return f"map<string, {self._type(others, left)}>" if isinstance(others, dict) else "string"

    def _resolved(self, schema: object) -> Mapping[str, Any]:
        """Follows references, and `oneOf` or `anyOf` of null and one other schema."""
        for _ in range(DEEPEST):
            if not isinstance(schema, Mapping):
                return {}
            reference = schema.get("$ref")
            others = [each for each in (schema.get("oneOf") or schema.get("anyOf") or ()) if not _is_null(each)]
            if isinstance(reference, str):
                schema = self._referred(reference)
            elif "type" not in schema and len(others) == 1:
                schema = others[0]
            else:
                return schema
        return {}

    def _referred(self, reference: str) -> object:
        found: object = self._document if reference.startswith("#") else None
        for part in reference.removeprefix("#").split("/")[1:]:
            found = found.get(part) if isinstance(found, Mapping) else None
        return found


def _kind(schema: Mapping[str, Any]) -> str | None:
    """None if there are several, or none."""
    kinds = schema.get("type", "object" if "properties" in schema else ())
    some = [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"]
    return some[0] if len(some) == 1 else None


def _is_null(schema: object) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "null"


def _may_be_null(schema: object) -> bool:
    if not isinstance(schema, Mapping):
        return True
    kinds = schema.get("type", ())
    return "null" in kinds or any(map(_is_null, (*(schema.get("oneOf") or ()), *(schema.get("anyOf") or ()))))
