"""Columns and their types from a sample of records."""

import json
from typing import Any

import pytest

from restow.starter.columns import MOST_COLUMNS, Column, shape_of
from restow.starter.types import MOST_NESTED, Scalar, type_of


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([], "string"),
        ([None, None], "string"),
        ([True, None], "boolean"),
        ([1, 2, None], "bigint"),
        ([1, 2.5], "double"),
        ([True, 1], "string"),
        ([1 << 63], "decimal(38,0)"),
        ([-(10**38)], "string"),
        (["a"], "string"),
        (["2026-03-01T12:00:00Z", "2026-03-01 12:00:00.25+01:00"], "timestamp"),
        (["2026-03-01T12:00:00Z", "soon"], "string"),
        (["2026-03-01T12:00:00"], "string"),
        ([{"a": 1}, {"b": "x", "a": 2}], "struct<`a`: bigint, `b`: string>"),
        ([{"a": {"b": [1.5]}}], "struct<`a`: struct<`b`: array<double>>>"),
        ([{}], "string"),
        ([{"a b": 1}], "string"),
        ([{"a": 1, "A": 2}], "string"),
        ([{str(number): 1 for number in range(MOST_NESTED + 1)}], "string"),
        ([[1], [2, None]], "array<bigint>"),
        ([[], []], "array<string>"),
        ([[1], {"a": 1}], "string"),
    ],
)
def test_a_type_holds_every_sampled_value(values: list[Any], type_: str) -> None:
    assert type_of(values) == type_


def as_json(*objects: object) -> list[bytes]:
    return [json.dumps(each).encode() for each in objects]


def test_the_columns_of_json_are_its_keys_in_their_first_order() -> None:
    shape = shape_of([*as_json({"id": "a", "amount": 1}, {"at": "2026-03-01T12:00:00Z", "amount": 2.5}), None])
    assert shape.kind == "json"
    assert shape.columns == (
        Column("id", "id", Scalar("string")),
        Column("amount", "amount", Scalar("double")),
        Column("at", "at", Scalar("timestamp")),
    )
    assert (shape.sampled, shape.unparsed, shape.left_out) == (2, 0, ())
    assert shape.words == "JSON, 3 columns"


def test_keys_that_can_not_be_columns_get_other_names_or_are_left_out() -> None:
    shape = shape_of(as_json({"a b": 1, "a.b": 2, "Id": 3, "id": 4, "": 5, "_offset": 6, "x`y": 7, "new\nline": 8}))
    assert [(each.key, each.name) for each in shape.columns] == [("a b", "a_b"), ("Id", "Id"), ("x`y", "x_y")]
    assert shape.left_out == ("a.b", "id", "", "_offset", "new\nline")


def test_an_object_has_at_most_so_many_columns() -> None:
    shape = shape_of(as_json({f"k{number}": 1 for number in range(MOST_COLUMNS + 2)}))
    assert (len(shape.columns), len(shape.left_out)) == (MOST_COLUMNS, 2)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([], "empty"),
        ([None], "empty"),
        ([b"plain", "größer".encode()], "text"),
        (as_json([1], 2), "text"),
        (as_json({}), "text"),
        ([b"\x00\x00\x00\x00\x01rest"], "binary"),
        ([b"\xff"], "binary"),
        ([b"[" * 100_000], "text"),
        ([*as_json(*[{"a": 1}] * 4), b"plain"], "json"),
        ([*as_json(*[{"a": 1}] * 3), b"plain"], "text"),
    ],
)
def test_what_is_not_json_is_text_or_binary(values: list[bytes | None], kind: str) -> None:
    assert shape_of(values).kind == kind
