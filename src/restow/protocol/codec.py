"""Converts dataclasses to plain JSON and back, driven by the types of their fields. Messages, event logs and consumers'
checkpoints are written with it.

    StopConsumingCommand(8, 3, 5, (orders-0, orders-1))
    {"epoch": 8, "sequence": 3, "incarnation": 5, "partitions": {"orders": [0, 1]}}

A member of a union has its class's name beside its fields: {"type": "ConsumerGone", "consumer": 2}. Readers ignore
unknown keys, which a newer sender may have; for anything else that is invalid they raise InvalidInput with its place.
The form of each type is derived once.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import GenericAlias, NoneType, UnionType
from typing import Any, Final, Literal, NewType, TypeVar, Union, get_args, get_origin, get_type_hints, overload

from restow.errors import InvalidInput
from restow.model import Assignment, ConsumerId, SortedMapping, Speeds, TopicPartition
from restow.protocol.forms import (
    CONSUMER,
    NUMBER,
    TEXT,
    TRUTH,
    WHOLE,
    Form,
    Mismatch,
    key_shown,
    member_of,
    mismatch,
    one_of,
    read_consumer_key,
    read_text,
    same,
)
from restow.protocol.partition_forms import ASSIGNMENT, PARTITION, PARTITIONS, SPEEDS, by_partition

T = TypeVar("T")

TAG: Final = "type"
"""The key with the class's name of a member of a union."""

SINGLE: Final[Mapping[Any, Form]] = {
    str: TEXT,
    int: WHOLE,
    float: NUMBER,
    bool: TRUTH,
    ConsumerId: CONSUMER,
    TopicPartition: PARTITION,
    Speeds: SPEEDS,
    Assignment: ASSIGNMENT,
}


def to_plain(value: object, kind: object = None) -> Any:
    """`kind` is the type to write it as, by default the value's own. Pass a union to get the class's name written."""
    return form_of(type(value) if kind is None else kind).write(value)


@overload
def from_plain(kind: type[T], plain: object, where: str = "") -> T: ...
@overload
def from_plain(kind: object, plain: object, where: str = "") -> Any: ...
def from_plain(kind: object, plain: object, where: str = "") -> Any:
    """Raises InvalidInput if it does not fit the type; `where` is prefixed to the place in the message."""
    try:
        return form_of(kind).read(plain)
    except Mismatch as error:
        if where:
            error.place.insert(0, where)
        raise InvalidInput(str(error)) from None


@cache
def form_of(kind: Any) -> Form:
    if kind in SINGLE:
        return SINGLE[kind]
    if isinstance(kind, NewType):
        return form_of(kind.__supertype__)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _union(inner)
    if origin is Literal:
        return one_of(inner)
    if origin is tuple and inner[1:] == (Ellipsis,):
        return PARTITIONS if inner[0] is TopicPartition else _array(form_of(inner[0]))
    if origin is frozenset:
        return _set(form_of(GenericAlias(tuple, (inner[0], Ellipsis))))
    if origin in (SortedMapping, Mapping):
        return _mapping(*inner)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return member_of(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        return _dataclass(kind)
    raise TypeError(f"{kind} has no form in JSON; give it one in restow.protocol.codec")


def _default(field: Field[Any]) -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _dataclass(kind: Any) -> Form:
    hints = get_type_hints(kind)
    inner = {field.name: form_of(hints[field.name]) for field in fields(kind)}
    required = {f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING}
    writers = [(name, form.write) for name, form in inner.items()]
    added = {f.name: _default(f) for f in fields(kind) if f.metadata.get("left_out_by_default")}
    readers = [(name, form.read) for name, form in inner.items()]
    words = f"a {kind.__name__}"

    def write(value: Any) -> dict[str, Any]:
        written = {name: write_field(getattr(value, name)) for name, write_field in writers}
        for name, default in added.items():
            if getattr(value, name) == default:
                del written[name]
        return written

    def read(plain: object) -> Any:
        if type(plain) is not dict:
            raise mismatch(plain, f"an object, {words}")
        values = {}
        for name, read_field in readers:
            if name in plain:
                try:
                    values[name] = read_field(plain[name])
                except Mismatch as inside:
                    inside.place.insert(0, name)
                    raise
            elif name in required:
                raise Mismatch(f"is missing; it must be given: {inner[name].words}", name)
        try:
            return kind(**values)
        except InvalidInput as error:  # from the dataclass itself; its message starts with a field's name
            name, _, message = str(error).partition(" ")
            raise Mismatch(message, name) from None

    return Form(write, read, words)


def _union(members: tuple[Any, ...]) -> Form:
    some = tuple(member for member in members if member is not NoneType)
    if len(some) == 1:
        form = form_of(some[0])
    elif all(is_dataclass(member) for member in some):
        form = _tagged(some)
    else:
        form = _any_of([form_of(member) for member in some])
    return form if len(some) == len(members) else _optional(form)


def _optional(form: Form) -> Form:
    def write(value: Any) -> Any:
        return None if value is None else form.write(value)

    def read(plain: object) -> Any:
        return None if plain is None else form.read(plain)

    return Form(write, read, f"{form.words}, or null")


def _tagged(kinds: tuple[Any, ...]) -> Form:
    forms = {kind: form_of(kind) for kind in kinds}
    readers = {kind.__name__: form.read for kind, form in forms.items()}
    writers = {kind: (kind.__name__, form.write) for kind, form in forms.items()}
    words = f"one of {', '.join(readers)}"
    if len(readers) < len(kinds) or any(field.name == TAG for kind in kinds for field in fields(kind)):
        raise TypeError(f"{words} are ambiguous: two have the same name, or one has a field '{TAG}'")

    def write(value: Any) -> dict[str, Any]:
        name, write_fields = writers[type(value)]
        return {TAG: name, **write_fields(value)}

    def read(plain: object) -> Any:
        if type(plain) is not dict:
            raise mismatch(plain, f"an object, {words}")
        name = plain.get(TAG)
        if type(name) is not str or name not in readers:
            raise Mismatch(mismatch(name, words).message, TAG)
        return readers[name](plain)

    return Form(write, read, words)


def _any_of(forms: list[Form]) -> Form:
    """A union of types that JSON itself distinguishes, like a number or text."""
    words = " or ".join(form.words for form in forms)

    def read(plain: object) -> Any:
        for form in forms:
            try:
                return form.read(plain)
            except Mismatch:
                continue
        raise mismatch(plain, words)

    return Form(same, read, words)


def _array(inner: Form) -> Form:
    words = f"an array, each element {inner.words}"

    def write(values: tuple[Any, ...]) -> list[Any]:
        return [inner.write(value) for value in values]

    def read(plain: object) -> tuple[Any, ...]:
        if type(plain) is not list:
            raise mismatch(plain, words)
        found = []
        for index, value in enumerate(plain):
            try:
                found.append(inner.read(value))
            except Mismatch as inside:
                inside.place.insert(0, str(index))
                raise
        return tuple(found)

    return Form(write, read, words)


def _set(inner: Form) -> Form:
    """Written in sorted order, so that equal sets have the same encoding."""
    return Form(
        lambda values: inner.write(tuple(sorted(values))), lambda plain: frozenset(inner.read(plain)), inner.words
    )


def _mapping(key: Any, value: Any) -> Form:
    inner = form_of(value)
    if key is TopicPartition:
        return by_partition(inner)
    names = {str: "name", ConsumerId: "consumer"}
    if key not in names:
        raise TypeError(f"{key} has no form as a key in JSON; give it one in restow.protocol.codec")
    read_key: Callable[[str], Any] = read_text if key is str else read_consumer_key
    words = f"an object: {inner.words} for each {names[key]}"

    def write(values: Mapping[Any, Any]) -> dict[str, Any]:
        return {str(name): inner.write(values[name]) for name in sorted(values)}

    def read(plain: object) -> SortedMapping[Any, Any]:
        if type(plain) is not dict:
            raise mismatch(plain, words)
        found = {}
        for name, each in plain.items():
            try:
                known = read_key(name)
                found[known] = inner.read(each)
            except Mismatch as inside:
                inside.place.insert(0, key_shown(name))
                raise
        return SortedMapping(found)

    return Form(write, read, words)
