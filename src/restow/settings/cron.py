"""Cron expressions of five fields, and durations like 8h: when windows of `[[schedule]]` begin and how long they last.

    minute  hour  day of the month  month  day of the week
    0       22    *                 *      mon-fri

A field is `*`, a number, a range `1-5`, a step `*/15` or `8-18/2`, or several of these, separated by commas. Months
and days of the week have names too; 0 and 7 are Sunday; `L` is the last day of the month. If both the day of the month
and the day of the week are limited, either suffices, as in every cron.

Pure: local time is whatever the caller's `offset_s` makes of UTC, so that time zones are resolved at the edge.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from restow.errors import InvalidInput

MINUTE_S: Final = 60
DAY_MINUTES: Final = 1440
LAST: Final = 32
"""The last day of the month, whichever it is."""
MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
UNIT_S: Final = {"m": 60.0, "h": 3600.0, "d": 86_400.0}
LONGEST_S: Final = 31 * 86_400.0


class Part(NamedTuple):
    """What a field of the expression may have."""

    name: str
    first: int
    last: int
    names: tuple[str, ...] = ()


PARTS: Final = (
    Part("minute", 0, 59),
    Part("hour", 0, 23),
    Part("day of the month", 1, 31),
    Part("month", 1, 12, MONTHS),
    Part("day of the week", 0, 7, DAYS),
)


@dataclass(frozen=True, slots=True)
class Cron:
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool
    """Whether the day of the month or of the week suffices."""

    @classmethod
    def parse(cls, text: str) -> "Cron":
        """Raises InvalidInput."""
        fields = text.lower().split()
        if len(fields) != len(PARTS):
            raise InvalidInput(f"'{text}' has {len(fields)} fields; a cron expression has five, like 0 22 * * mon-fri")
        sets = [_values(field, part) for field, part in zip(fields, PARTS, strict=True)]
        weekdays = frozenset(day % 7 for day in sets[4])
        is_either = not fields[2].startswith("*") and not fields[4].startswith("*")
        return cls(sets[0], sets[1], sets[2], sets[3], weekdays, is_either)

    def matches(self, local_minute: int) -> bool:
        """`local_minute`: minutes since 1970-01-01 00:00, local time."""
        day, minute = divmod(local_minute, DAY_MINUTES)
        return minute % 60 in self.minutes and minute // 60 in self.hours and self._has_day(day)

    def _has_day(self, days: int) -> bool:
        _, month, day = civil(days)
        is_last = LAST in self.days and civil(days + 1)[2] == 1
        in_month, in_week = day in self.days or is_last, (days + 4) % 7 in self.weekdays  # 1970-01-01 was a Thursday
        return month in self.months and (in_month or in_week if self.either else in_month and in_week)


def begins(cron: Cron, offset_s: Callable[[float], float], from_s: float, until_s: float) -> Iterator[float]:
    """The times at which the expression holds, as seconds since 1970 in UTC. `offset_s` is the local time's distance
    from UTC at a time. A local time that the clock skips does not occur; a time that it repeats occurs twice."""
    for minute in range(int(from_s) // MINUTE_S, int(until_s) // MINUTE_S + 1):
        utc_s = float(minute * MINUTE_S)
        if from_s <= utc_s < until_s and cron.matches(minute + int(offset_s(utc_s)) // MINUTE_S):
            yield utc_s


def duration_s(text: str) -> float:
    """8h, 30m, 1d, 1d12h. Raises InvalidInput."""
    found = re.findall(r"(\d+)([dhm])", text)
    seconds = sum(int(count) * UNIT_S[unit] for count, unit in found)
    if "".join(f"{count}{unit}" for count, unit in found) != text or not 0 < seconds <= LONGEST_S:
        raise InvalidInput(f"'{text}' is not a duration; write days, hours and minutes, like 8h or 1d12h, 31d at most")
    return seconds


def civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of a day, counted from 1970-01-01, in the Gregorian calendar."""
    era, day_of_era = divmod(days + 719_468, 146_097)  # eras of 400 years begin on 1 March
    year = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year + year // 4 - year // 100)
    month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return year + era * 400 + (month <= 2), month, day


def is_cron(text: str) -> bool:
    return _is_valid(lambda: Cron.parse(text))


def is_duration(text: str) -> bool:
    return _is_valid(lambda: duration_s(text))


def _is_valid(parse: Callable[[], object]) -> bool:
    try:
        parse()
    except InvalidInput:
        return False
    return True


def _values(field: str, part: Part) -> frozenset[int]:
    return frozenset(value for item in field.split(",") for value in _range(item, part))


def _range(item: str, part: Part) -> range:
    if item == "l" and part.name == "day of the month":
        return range(LAST, LAST + 1)
    span, slash, step_text = item.partition("/")
    step = int(step_text) if slash and step_text.isdigit() else 1
    first_text, dash, last_text = span.partition("-")
    if span == "*":
        first, last = part.first, part.last
    else:
        first = _number(first_text, part)
        last = _number(last_text, part) if dash else (part.last if slash else first)
    if first > last or step < 1 or (slash and not step_text.isdigit()):
        raise InvalidInput(f"'{item}' is no {part.name} of a cron expression")
    return range(first, last + 1, step)


def _number(text: str, part: Part) -> int:
    if text in part.names:
        return part.names.index(text) + part.first
    if not text.isdigit() or not part.first <= int(text) <= part.last:
        raise InvalidInput(f"'{text}' is no {part.name}; it must be {part.first} to {part.last}")
    return int(text)
