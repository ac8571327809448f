"""Protobuf messages become structs, by a schema that is compiled."""

import pickle
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from restow.pipeline.formats.errors import SchemaError
from restow.pipeline.formats.protobuf import WRONG, Decoder, compiled, in_directory

ORDER = """\
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "parts/money.proto";
enum Status { NEW = 0; PAID = 1; }
message Header { string trace = 1; }
message Order {
  string id = 1;
  google.protobuf.Timestamp at = 2;
  Status status = 3;
  repeated Item items = 4;
  map<string, int32> tags = 5;
  optional int32 count = 6;
  uint64 large = 7;
  google.protobuf.StringValue note = 8;
  bytes raw = 9;
  Order parent = 10;
  parts.Money price = 11;
  message Item { string sku = 1; double weight = 2; }
}
"""
MONEY = 'syntax = "proto3"; package parts; message Money { int64 cents = 1; }'


@pytest.fixture(scope="module")
def descriptors() -> bytes:
    return compiled(ORDER, "order.proto", {"parts/money.proto": MONEY})


def new(descriptors: bytes, name: str) -> Any:
    pool, files = descriptor_pool.DescriptorPool(), descriptor_pb2.FileDescriptorSet.FromString(descriptors)
    for file in files.file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))()


def an_order(descriptors: bytes) -> Any:
    order = new(descriptors, "shop.Order")
    order.id, order.status, order.large = "a", 1, 2**64 - 1
    order.at.FromDatetime(datetime(2026, 3, 1, 12, 0, 0, 250000, tzinfo=UTC))
    order.items.add(sku="x", weight=0.5)
    order.tags["red"] = 3
    order.note.value, order.price.cents = "now", 1250
    return order


def test_fields_have_the_types_of_their_values(descriptors: bytes) -> None:
    decoder = Decoder(descriptors, "shop.Order", "order.proto", is_framed=False)
    assert decoder.columns == {
        "id": "string",
        "at": "timestamp",
        "status": "string",
        "items": "array<struct<`sku`: string, `weight`: double>>",
        "tags": "map<string, int>",
        "count": "int",
        "large": "decimal(20,0)",
        "note": "string",
        "raw": "binary",
        "price": "struct<`cents`: bigint>",
    }, "parent is left out: an order can't contain orders without end"


def test_a_value_becomes_a_struct_and_what_is_not_set_is_null_where_presence_is_known(descriptors: bytes) -> None:
    decoder = pickle.loads(pickle.dumps(Decoder(descriptors, "shop.Order", "order.proto", is_framed=False)))
    assert decoder.struct(an_order(descriptors).SerializeToString()) == {
        "id": "a",
        "at": datetime(2026, 3, 1, 12, 0, 0, 250000, tzinfo=UTC),
        "status": "PAID",
        "items": [{"sku": "x", "weight": 0.5}],
        "tags": [("red", 3)],
        "count": None,
        "large": Decimal(2**64 - 1),
        "note": "now",
        "raw": b"",
        "price": {"cents": 1250},
    }
    assert decoder.struct(None) is None
    assert decoder.struct(b"\xff") == {WRONG: "it is not a Protobuf message that fits the schema"}


@pytest.mark.parametrize(
    ("path", "error"),
    [
        (b"\x02\x02", None),
        (b"\x00", "it is message [0] of its schema, and not shop.Order"),
        (b"\x04\x02\x00", "it is message [1, 0] of its schema, and not shop.Order"),
        (b"", "it is not a Protobuf message that fits the schema"),
        (b"\x80", "it is not a Protobuf message that fits the schema"),
    ],
)
def test_a_framed_value_names_its_message(descriptors: bytes, path: bytes, error: str | None) -> None:
    decoder = Decoder(descriptors, "shop.Order", "order.proto", is_framed=True)
    body = an_order(descriptors).SerializeToString() if len(path) > 1 else b""
    found = decoder.struct(b"\x00\x00\x00\x00\x07" + path + body)
    assert found is not None
    assert found.get(WRONG) == error
    assert found.get("id") == ("a" if error is None else None)


def test_without_a_name_it_is_the_first_message(descriptors: bytes) -> None:
    assert Decoder(descriptors, "", "order.proto", is_framed=False).columns == {"trace": "string"}


@pytest.mark.parametrize(
    ("content", "message", "reason"),
    [
        (None, "shop.Other", "order.proto has no message shop.Other; write one of its messages"),
        (b"\xff", "", "order.proto is not a descriptor set; make one with protoc --descriptor_set_out"),
        (b"", "", "order.proto is an empty descriptor set; make one with protoc --include_imports"),
    ],
)
def test_a_schema_without_the_message_is_refused(
    descriptors: bytes, content: bytes | None, message: str, reason: str
) -> None:
    with pytest.raises(SchemaError) as refused:
        Decoder(descriptors if content is None else content, message, "order.proto", is_framed=False)
    assert str(refused.value) == reason


def test_a_schema_that_can_t_be_compiled_is_refused_with_the_compiler_s_words() -> None:
    with pytest.raises(
        SchemaError, match=r'order\.proto can\'t be compiled: schema\.proto:1:32: "Oops" is not defined'
    ):
        compiled('syntax = "proto3"; message A { Oops a = 1; }', "order.proto", {})


def test_imports_are_found_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "money.proto").write_text(MONEY)
    assert in_directory(tmp_path) == {"parts/money.proto": MONEY}
