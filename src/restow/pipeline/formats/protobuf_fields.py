"""The fields of a Protobuf message: their types in Spark's DDL, and functions that read their values.

    enum                                the value's name
    uint64                              decimal(20,0)
    repeated, map                       array, map
    google.protobuf.Timestamp           timestamp
    google.protobuf.StringValue, …      the value, or null
    a message that contains itself      left out there

A field that has presence is null where it isn't set; another has its default.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from restow.starter.types import quoted

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
TIMESTAMP: Final = "google.protobuf.Timestamp"
WRAPPERS: Final = frozenset(
    f"google.protobuf.{kind}Value"
    for kind in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
SCALARS: Final[Mapping[int, str]] = {
    FieldDescriptor.CPPTYPE_INT32: "int",
    FieldDescriptor.CPPTYPE_INT64: "bigint",
    FieldDescriptor.CPPTYPE_UINT32: "bigint",
    FieldDescriptor.CPPTYPE_UINT64: "decimal(20,0)",
    FieldDescriptor.CPPTYPE_DOUBLE: "double",
    FieldDescriptor.CPPTYPE_FLOAT: "float",
    FieldDescriptor.CPPTYPE_BOOL: "boolean",
    FieldDescriptor.CPPTYPE_ENUM: "string",
}

Convert = Callable[[Any], Any]


class LeftOut(Exception):
    """A message without fields, or a message that contains itself, has no type in Spark."""


def fields_of(descriptor: Descriptor, outer: tuple[str, ...]) -> tuple[dict[str, str], dict[str, Convert]]:
    types: dict[str, str] = {}
    readers: dict[str, Convert] = {}
    for field in descriptor.fields:
        try:
            types[field.name], readers[field.name] = _field(field, (*outer, descriptor.full_name))
        except LeftOut:
            continue
    if not types:
        raise LeftOut
    return types, readers


def _field(field: FieldDescriptor, outer: tuple[str, ...]) -> tuple[str, Convert]:
    name, inner = field.name, field.message_type
    if inner is not None and inner.GetOptions().map_entry:
        (key, to_key), (value, to_value) = (_value(inner.fields_by_name[part], outer) for part in ("key", "value"))
        items: Convert = lambda m: [(to_key(k), to_value(v)) for k, v in getattr(m, name).items()]  # noqa: E731
        return f"map<{key}, {value}>", items
    kind, convert = _value(field, outer)
    if field.is_repeated:
        return f"array<{kind}>", lambda message: [convert(each) for each in getattr(message, name)]
    if field.has_presence:
        return kind, lambda message: convert(getattr(message, name)) if message.HasField(name) else None
    return kind, lambda message: convert(getattr(message, name))


def _value(field: FieldDescriptor, outer: tuple[str, ...]) -> tuple[str, Convert]:
    """The type of a single value of the field, and what makes Spark's value of it."""
    if field.message_type is not None:
        return _of_message(field.message_type, outer)
    if field.enum_type is not None:
        names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
        return "string", lambda number: names.get(number, str(number))
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return ("binary" if field.type == FieldDescriptor.TYPE_BYTES else "string"), _same
    return SCALARS[field.cpp_type], Decimal if field.cpp_type == FieldDescriptor.CPPTYPE_UINT64 else _same


def _of_message(descriptor: Descriptor, outer: tuple[str, ...]) -> tuple[str, Convert]:
    if descriptor.full_name == TIMESTAMP:
        return "timestamp", lambda m: EPOCH + timedelta(seconds=m.seconds, microseconds=m.nanos // 1000)
    if descriptor.full_name in WRAPPERS:
        kind, convert = _value(descriptor.fields_by_name["value"], outer)
        return kind, lambda message: convert(message.value)
    if descriptor.full_name in outer:
        raise LeftOut
    types, readers = fields_of(descriptor, outer)
    ddl = ", ".join(f"{quoted(name)}: {kind}" for name, kind in types.items())
    return f"struct<{ddl}>", lambda message: {name: read(message) for name, read in readers.items()}


def _same(value: Any) -> Any:
    return value
