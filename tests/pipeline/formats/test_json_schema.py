"""JSON Schemas become columns, and samples of records become JSON Schemas."""

import json
from typing import Any

import pytest

from restow.pipeline.formats.errors import SchemaError
from restow.pipeline.formats.json_schema import JsonColumn, columns_of
from restow.starter.columns import shape_of
from restow.starter.json_schema import schema_text


def columns(**properties: Any) -> dict[str, str]:
    schema = {"type": "object", "properties": properties}
    return {column.name: column.type for column in columns_of(json.dumps(schema), "orders.json")}


@pytest.mark.parametrize(
    ("schema", "type_"),
    [
        ({"type": "string"}, "string"),
        ({"type": "string", "format": "date-time"}, "timestamp"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": "string", "format": "email"}, "string"),
        ({"type": "integer"}, "bigint"),
        ({"type": "integer", "maximum": 10**30}, "decimal(38,0)"),
        ({"type": "number"}, "double"),
        ({"type": "boolean"}, "boolean"),
        ({"type": ["null", "number"]}, "double"),
        ({"type": ["string", "number"]}, "string"),
        ({}, "string"),
        (True, "string"),
        ({"enum": ["a", "b"]}, "string"),
        ({"oneOf": [{"type": "null"}, {"type": "integer"}]}, "bigint"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "string"),
        ({"type": "array", "items": {"type": "integer"}}, "array<bigint>"),
        ({"type": "array"}, "array<string>"),
        (
            {"type": "object", "properties": {"a": {"type": "string"}, "b c": {"type": "integer"}}},
            "struct<`a`: string, `b c`: bigint>",
        ),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "map<string, double>"),
        ({"type": "object"}, "string"),
    ],
)
def test_a_property_is_a_column(schema: Any, type_: str) -> None:
    assert columns(x=schema) == {"x": type_}


def test_references_in_the_document_are_followed_and_one_to_itself_ends_as_text() -> None:
    schema = {
        "$ref": "#/$defs/order",
        "$defs": {
            "order": {
                "properties": {
                    "id": {"$ref": "#/$defs/id"},
                    "next": {"$ref": "#/$defs/node"},
                    "far": {"$ref": "x.json"},
                }
            },
            "id": {"type": "string"},
            "node": {"type": "object", "properties": {"value": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}},
        },
    }
    found = {column.name: column.type for column in columns_of(json.dumps(schema), "orders.json")}
    assert (found["id"], found["far"]) == ("string", "string")
    assert found["next"].startswith("struct<`value`: bigint, `next`: struct<`value`: bigint")
    assert found["next"].count("struct") == 20


def test_a_name_that_a_table_can_t_have_is_changed_and_required_keys_are_kept_in_mind() -> None:
    schema = {"required": ["a b", "n"], "properties": {"a b": {"type": "string"}, "n": {"type": ["integer", "null"]}}}
    assert columns_of(json.dumps(schema), "x") == (
        JsonColumn("a b", "a_b", "string", is_required=True),
        JsonColumn("n", "n", "bigint"),
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x", "orders.json is not a JSON Schema: Expecting value: line 1 column 1 (char 0)"),
        ("[]", "orders.json is not a JSON Schema; it must be an object"),
        ("{}", "orders.json has no properties; it must be a JSON Schema of an object with some"),
        (
            '{"properties": {"_offset": {}}}',
            "orders.json has a field _offset, which is a name of restow's own; it must have another one",
        ),
        (
            '{"properties": {"a b": {}, "A.b": {}}}',
            "orders.json has two fields that make the column A_b; names must differ in more than case",
        ),
    ],
)
def test_a_schema_that_makes_no_columns_is_refused(text: str, reason: str) -> None:
    with pytest.raises(SchemaError) as refused:
        columns_of(text, "orders.json")
    assert str(refused.value) == reason


def test_an_inferred_schema_gives_the_types_of_the_sample() -> None:
    record = {
        "id": "a",
        "at": "2026-03-01T12:00:00Z",
        "n": 1,
        "large": 2**70,
        "share": 0.5,
        "is_new": True,
        "items": [{"sku": "x", "count": 2}],
        "mixed": 1,
    }
    shape = shape_of([json.dumps(each).encode() for each in (record, {**record, "mixed": "b", "n": None})])
    text = schema_text(shape, "orders")
    found = {column.name: column.type for column in columns_of(text, "orders.json")}
    assert found == {column.name: column.type for column in shape.columns}
    assert found["items"] == "array<struct<`sku`: string, `count`: bigint>>"
    assert json.loads(text)["properties"]["mixed"] == {}
