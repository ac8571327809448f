"""A dataclass <-> plain JSON, driven by the types of its fields. Records, event logs and volumes are written with it.

    StopConsumingCommand(8, 3, 5, (orders-0, orders-1))
    {"epoch": 8, "sequence": 3, "incarnation": 5, "partitions": {"orders": [0, 1]}}

A class that is one of several has its name beside its fields: {"type": "ConsumerGone", "consumer": 2}. A reader passes
over keys it doesn't know, which a newer sender may have; all else that it can't use is refused with its place.
The form of a type is worked out once.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
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
    Wrong,
    key_shown,
    member_of,
    one_of,
    read_consumer_key,
    read_text,
    same,
    wrong,
)
from restow.protocol.partition_forms import ASSIGNMENT, PARTITION, PARTITIONS, SPEEDS, by_partition

T = TypeVar("T")

TAG: Final = "type"
"""The key under which a class stands that is one of several."""

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
    """`kind` is the type it will be read as; left out, the value's own. A value of a union needs it to get its name."""
    return form_of(type(value) if kind is None else kind).write(value)


@overload
def from_plain(kind: type[T], plain: object, where: str = "") -> T: ...
@overload
def from_plain(kind: object, plain: object, where: str = "") -> Any: ...
def from_plain(kind: object, plain: object, where: str = "") -> Any:
    """`where` is what the place of a refusal starts with."""
    try:
        return form_of(kind).read(plain)
    except Wrong as refused:
        if where:
            refused.place.insert(0, where)
        raise InvalidInput(str(refused)) from None


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


def _dataclass(kind: Any) -> Form:
    hints = get_type_hints(kind)
    inner = {field.name: form_of(hints[field.name]) for field in fields(kind)}
    required = {f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING}
    writers = [(name, form.write) for name, form in inner.items()]
    added = {f.name: f.default for f in fields(kind) if f.metadata.get("left_out_by_default")}
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
            raise wrong(plain, f"an object, {words}")
        values = {}
        for name, read_field in readers:
            if name in plain:
                try:
                    values[name] = read_field(plain[name])
                except Wrong as inside:
                    inside.place.insert(0, name)
                    raise
            elif name in required:
                raise Wrong(f"is missing; it must be given: {inner[name].words}", name)
        try:
            return kind(**values)
        except InvalidInput as error:  # fields that can't be, or contradict each other: the message starts with one
            name, _, says = str(error).partition(" ")
            raise Wrong(says, name) from None

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
        raise TypeError(f"{words} can't be told apart: two have one name, or one has a field '{TAG}'")

    def write(value: Any) -> dict[str, Any]:
        name, write_fields = writers[type(value)]
        return {TAG: name, **write_fields(value)}

    def read(plain: object) -> Any:
        if type(plain) is not dict:
            raise wrong(plain, f"an object, {words}")
        name = plain.get(TAG)
        if type(name) is not str or name not in readers:
            raise Wrong(wrong(name, words).says, TAG)
        return readers[name](plain)

    return Form(write, read, words)


def _any_of(forms: list[Form]) -> Form:
    """Of values that JSON itself tells apart, like a number or a text."""
    words = " or ".join(form.words for form in forms)

    def read(plain: object) -> Any:
        for form in forms:
            try:
                return form.read(plain)
            except Wrong:
                continue
        raise wrong(plain, words)

    return Form(same, read, words)


def _array(inner: Form) -> Form:
    words = f"an array, each of it {inner.words}"

    def write(values: tuple[Any, ...]) -> list[Any]:
        return [inner.write(value) for value in values]

    def read(plain: object) -> tuple[Any, ...]:
        if type(plain) is not list:
            raise wrong(plain, words)
        found = []
        for index, value in enumerate(plain):
            try:
                found.append(inner.read(value))
            except Wrong as inside:
                inside.place.insert(0, str(index))
                raise
        return tuple(found)

    return Form(write, read, words)


def _set(inner: Form) -> Form:
    """Without an order of its own, and written in one, so that the same set is the same text."""
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
    words = f"for each {names[key]} {inner.words}"

    def write(values: Mapping[Any, Any]) -> dict[str, Any]:
        return {str(name): inner.write(values[name]) for name in sorted(values)}

    def read(plain: object) -> SortedMapping[Any, Any]:
        if type(plain) is not dict:
            raise wrong(plain, f"an object: {words}")
        found = {}
        for name, each in plain.items():
            try:
                known = read_key(name)
                found[known] = inner.read(each)
            except Wrong as inside:
                inside.place.insert(0, key_shown(name))
                raise
        return SortedMapping(found)

    return Form(write, read, words)
