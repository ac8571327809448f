"""The JSON form of each scalar type: how to write it, how to read it, and a description for docs and error messages.

codec.py builds the forms of dataclasses, unions and collections from these. A reader raises `Mismatch`, which collects
its place on the way up, so that valid input costs nothing extra.
"""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from restow.model import FIRST_CONSUMER, ConsumerId

WIDEST_VALUE: Final = 60
"""How many characters of an invalid value an error message shows."""
GREATEST_WHOLE: Final = 2**63 - 1
"""Kafka's offsets, and integers in other languages, have 64 bits."""
GREATEST_PARTITION: Final = 2**31 - 1
CANONICAL_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,9}")
"""Numbers as keys have one spelling, so that none can occur twice."""


class Mismatch(Exception):
    """A value that does not fit its type. `place` grows from the inside out."""

    def __init__(self, message: str, *place: str) -> None:
        super().__init__(message)
        self.message = message
        self.place = list(place)

    def __str__(self) -> str:
        return f"{'.'.join(self.place) or 'the whole'} {self.message}"


@dataclass(frozen=True, slots=True)
class Form:
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]
    words: str
    """The description, in words that follow "it must be"."""


def mismatch(plain: object, expected: str) -> Mismatch:
    return Mismatch(f"is {shown(plain)}; it must be {expected}")


def shown(plain: object) -> str:
    """Short and on one line. It does not look inside collections, which may be nested arbitrarily deep."""
    if isinstance(plain, (dict, list)):
        return "an object" if isinstance(plain, dict) else "an array"
    if isinstance(plain, int) and plain.bit_length() > GREATEST_WHOLE.bit_length():
        return f"a whole number of {plain.bit_length()} bits"
    text = json.dumps(plain[:WIDEST_VALUE] if isinstance(plain, str) else plain)
    return text if len(text) <= WIDEST_VALUE else f"{text[: WIDEST_VALUE - 1]}…"


def key_shown(key: str) -> str:
    """A key as part of a place: as it is if it is short and printable, else quoted and shortened."""
    return key if len(key) <= WIDEST_VALUE and key.isprintable() else shown(key)


def same(value: Any) -> Any:
    return value


def read_text(plain: object) -> str:
    if type(plain) is not str:
        raise mismatch(plain, TEXT.words)
    if not plain.isascii():
        try:
            plain.encode()
        except UnicodeEncodeError:  # a lone surrogate, which can't be printed or stored
            raise mismatch(plain, "text of whole characters") from None
    return plain


def read_whole(plain: object) -> int:
    if type(plain) is not int:
        raise mismatch(plain, WHOLE.words)
    if not -GREATEST_WHOLE <= plain <= GREATEST_WHOLE:
        raise mismatch(plain, "below 2^63")
    return plain


def read_number(plain: object) -> float:
    if type(plain) is int:
        return float(read_whole(plain))
    if type(plain) is not float or not math.isfinite(plain):
        raise mismatch(plain, NUMBER.words)
    return plain


def read_speed(plain: object) -> float:
    number = read_number(plain)
    if number < 0:
        raise mismatch(plain, SPEED.words)
    return number


def read_truth(plain: object) -> bool:
    if type(plain) is not bool:
        raise mismatch(plain, TRUTH.words)
    return plain


def read_consumer(plain: object) -> ConsumerId:
    if type(plain) is not int or not FIRST_CONSUMER <= plain <= GREATEST_PARTITION:
        raise mismatch(plain, CONSUMER.words)
    return ConsumerId(plain)


def read_consumer_key(key: str) -> ConsumerId:
    if CANONICAL_NUMBER.fullmatch(key):
        return read_consumer(int(key))
    raise mismatch(key, CONSUMER.words)


TEXT: Final = Form(same, read_text, "text")
WHOLE: Final = Form(same, read_whole, "a whole number")
NUMBER: Final = Form(float, read_number, "a number")
SPEED: Final = Form(float, read_speed, "a number, 0 or more")
TRUTH: Final = Form(same, read_truth, "true or false")
CONSUMER: Final = Form(same, read_consumer, "a consumer's number, 1 or more")


def one_of(values: tuple[str, ...]) -> Form:
    words = " or ".join(f'"{value}"' for value in values)

    def read(plain: object) -> str:
        if type(plain) is str:
            for value in values:
                if value == plain:
                    return value
        raise mismatch(plain, words)

    return Form(same, read, words)


def member_of(enum: type[StrEnum]) -> Form:
    by_value = {member.value: member for member in enum}
    words = f"one of {', '.join(by_value)}"

    def read(plain: object) -> StrEnum:
        if type(plain) is not str or plain not in by_value:
            raise mismatch(plain, words)
        return by_value[plain]

    return Form(str, read, words)
