"""Validation of message fields; the constructors of messages call it.

Each error message starts with the field's name, so that codec.py can put the place in front of it.
"""

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Final

from restow.errors import InvalidInput
from restow.model import FIRST_CONSUMER, ConsumerId, TopicPartition

NAME: Final = r"[^\W\d]\w*(\.[^\W\d]\w*)*"
FUNCTION: Final = re.compile(rf"{NAME}:{NAME}")
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
TOPIC: Final = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")
"""Kafka's rule for the names of topics; `.` and `..` are not allowed."""
CONSUMER: Final = re.compile(r"[1-9][0-9]{0,8}")
"""A consumer's number as part of a key."""
LONGEST_TEXT: Final = 300
"""Of who and why: the picture has them in every record."""
TIME: Final = re.compile(
    r"(?P<year>\d{4})-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])"
    r"T(?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d):(?P<second>[0-5]\d(\.\d{1,6})?)Z",
    re.ASCII,
)


def at_least(least: int, /, **values: int | None) -> None:
    for name, value in values.items():
        if value is not None and value < least:
            raise InvalidInput(f"{name} is {value}; it must be {least} or more")


def finite(**values: float) -> None:
    for name, value in values.items():
        if not 0 <= value < math.inf:
            raise InvalidInput(f"{name} is {value}; it must be a finite number, 0 or more")


def above_0(**values: float | None) -> None:
    for name, value in values.items():
        if value is not None and not 0 < value < math.inf:
            raise InvalidInput(f"{name} is {value}; it must be a number above 0")


def offsets(name: str, values: Mapping[TopicPartition, int | None] | Mapping[TopicPartition, int]) -> None:
    for partition, offset in values.items():
        if offset is not None and offset < 0:
            topic, number = partition
            raise InvalidInput(f"{name}.{topic}.{number} is {offset}; it must be 0 or more")


def consumers(**tuples: tuple[ConsumerId, ...]) -> None:
    for name, numbers in tuples.items():
        for index, consumer in enumerate(numbers):
            if consumer < FIRST_CONSUMER:
                raise InvalidInput(f"{name}[{index}] is {consumer}; it must be {FIRST_CONSUMER} or more")


def not_empty(**values: object) -> None:
    for name, value in values.items():
        if not value:
            raise InvalidInput(f"{name} is empty; it must name one or more")


def sorted_partitions(partitions: tuple[TopicPartition, ...]) -> tuple[TopicPartition, ...]:
    """Sorted, so that messages with the same set of partitions are equal."""
    ordered = tuple(sorted(partitions))
    for earlier, later in pairwise(ordered):
        if earlier == later:
            raise InvalidInput(f"partitions has {later} twice; it must be there once")
    return ordered


def variables(name: str, env: Mapping[str, str]) -> None:
    for variable, value in env.items():
        if not VARIABLE.fullmatch(variable):
            raise InvalidInput(f"{name} has '{variable}'; it must be the name of a variable, like LOG_LEVEL")
        if "\0" in value:
            raise InvalidInput(f"{name}.{variable} contains a NUL character; it must be text without one")


def is_time(text: str) -> bool:
    """Whether it is a valid time in UTC; February 30 is not."""
    found = TIME.fullmatch(text)
    if not found:
        return False
    year, month, day = int(found["year"]), int(found["month"]), int(found["day"])
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = 28 + is_leap if month == 2 else 30 if month in (4, 6, 9, 11) else 31
    return year > 0 and day <= days


@lru_cache(maxsize=1024)  # a controller compares the ends of pins and pauses with its clock at every event
def utc_s(text: str) -> float:
    """The seconds since 1970 of a valid time in UTC."""
    found = TIME.fullmatch(text)
    assert found is not None, f"{text} is no time"
    year, month, day = int(found["year"]), int(found["month"]), int(found["day"])
    # Days since 1970 in the Gregorian calendar, with years that begin in March: the leap day is their last.
    years = year - (month <= 2)
    days_in_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    days = 365 * years + years // 4 - years // 100 + years // 400 + days_in_year - 719_468
    return days * 86_400.0 + int(found["hour"]) * 3600 + int(found["minute"]) * 60 + float(found["second"])


def times(**texts: str | None) -> None:
    for name, text in texts.items():
        if text is not None and not is_time(text):
            raise InvalidInput(f"{name} is '{text[:40]}'; it must be a time in UTC, like 2026-03-01T12:00:00Z")


def authored(by: str, at: str | None, reason: str) -> None:
    """Who, when and why."""
    times(at=at)
    for name, text in (("by", by), ("reason", reason)):
        if len(text) > LONGEST_TEXT:
            raise InvalidInput(f"{name} has {len(text)} characters; it must have at most {LONGEST_TEXT}")
        if not text.isprintable():
            raise InvalidInput(f"{name} has characters that can't be printed; it must be text on one line")
