"""Shortens the events of an event log: one that resembles the last of its kind is written as its difference to that.

    {"type": "ClockTicked", "now_s": 812.4, "listening": true}
    {"type": "ClockTicked", "by": [200]}                        200 ms later

`by` has one item for each value of the last such event, in order: 0 if the value is the same, a number to add (to a
float in units of the kind's `UNITS`), or the new value in brackets. Zeros at the end are left out. The clock, speeds
and consumers' reports, which are nearly all of a log, are written so; any other event, and one with other keys than
the last, in full. Nothing is lost: a difference is written only where adding it gives the very same value.
"""

import math
from collections.abc import Iterator
from typing import Any, Final

from restow.errors import InvalidInput
from restow.protocol.codec import TAG

BY: Final = "by"
UNITS: Final = {"ClockTicked": 1000, "SpeedsMeasured": 10, "ConsumerReport": 1000}
"""Units per 1.0: the controller's clock has milliseconds, the monitor publishes speeds in tenths."""
CONSUMER: Final = "consumer"
"""Each consumer's reports are compared with its own last one."""
NAME: Final = (TAG, CONSUMER)
LARGEST: Final = 1e12
"""Larger numbers are written themselves: they have no tenths, nor are they speeds."""

Plain = dict[str, Any]


class EventDifferences:
    """One for each segment of a log: its first event of a kind is written in full."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, Any], Plain] = {}

    def shorten(self, event: Plain) -> Plain:
        return self._each(event, self._shortened)

    def restore(self, event: Plain) -> Plain:
        """Raises InvalidInput if the event is a difference to one that the log does not have."""
        return self._each(event, self._restored)

    def _each(self, event: Plain, change: Any) -> Plain:
        """Changes the event, or each message in it."""
        heard = event.get("heard")
        if isinstance(heard, list):
            messages = [{**each, "message": change(each["message"])} if _has_message(each) else each for each in heard]
            return {**event, "heard": messages}
        changed: Plain = change(event)
        return changed

    def _shortened(self, plain: Plain) -> Plain:
        kind = plain.get(TAG)
        if kind not in UNITS:
            return plain
        series = (kind, plain.get(CONSUMER))
        values = _values(plain)
        last, self._last[series] = self._last.get(series), values
        items = None if last is None else difference(last, values, UNITS[kind])
        return plain if items is None else {**_name(plain), BY: items}

    def _restored(self, plain: Plain) -> Plain:
        kind = plain.get(TAG)
        if not isinstance(kind, str) or kind not in UNITS:
            return plain
        series = (kind, plain.get(CONSUMER))
        if BY in plain:
            if series not in self._last:
                raise InvalidInput(f"this {kind} is a difference, and none precedes it; the file is damaged")
            plain = {**_name(plain), **applied(self._last[series], plain[BY], UNITS[kind])}
        self._last[series] = _values(plain)
        return plain


def difference(old: Plain, new: Plain, units: int) -> list[Any] | None:
    """Returns None if one has keys that the other does not have."""
    items: list[Any] = []
    if not _compare(old, new, units, items):
        return None
    while items and items[-1] == 0:
        items.pop()
    return items


def applied(old: Plain, items: Any, units: int) -> Plain:
    """The inverse of `difference`. Raises InvalidInput if the difference does not fit the event."""
    try:
        left = iter(items)
        new: Plain = _rebuilt(old, left, units)
        if next(left, None) is not None:
            raise ValueError("there are more items than values")
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"this difference does not fit the event before it ({error}); the file is damaged") from None
    return new


def _has_message(heard: Any) -> bool:
    return isinstance(heard, dict) and isinstance(heard.get("message"), dict)


def _name(plain: Plain) -> Plain:
    return {key: plain[key] for key in NAME if key in plain}


def _values(plain: Plain) -> Plain:
    return {key: value for key, value in plain.items() if key not in NAME}


def _compare(old: Any, new: Any, units: int, items: list[Any]) -> bool:
    """Appends the items of `new`. Returns False if the two have different keys or lengths."""
    kind = type(new)
    if kind is dict:
        same = type(old) is dict and list(old) == list(new)
        return same and all(_compare(old[key], value, units, items) for key, value in new.items())
    if kind is list:
        same = type(old) is list and len(old) == len(new)
        return same and all(_compare(before, value, units, items) for before, value in zip(old, new, strict=True))
    items.append(_item(old, new, units))
    return type(old) not in (dict, list)


def _item(old: Any, new: Any, units: int) -> Any:
    if type(old) is not type(new):
        return [new]
    if type(new) is float:
        return _difference_of_floats(old, new, units)
    if old == new:
        return 0
    return new - old if type(new) is int else [new]


def _difference_of_floats(old: float, new: float, units: int) -> Any:
    if old == new:
        return 0 if new or math.copysign(1, old) == math.copysign(1, new) else [new]  # 0.0 equals -0.0
    if new == 0 and math.copysign(1, new) < 0:
        return [new]
    if abs(old) < LARGEST and abs(new) < LARGEST:
        before, after = round(old * units), round(new * units)
        if before / units == old and after / units == new:
            return after - before
    return [new]


def _rebuilt(old: Any, items: Iterator[Any], units: int) -> Any:
    if type(old) is dict:
        return {key: _rebuilt(value, items, units) for key, value in old.items()}
    if type(old) is list:
        return [_rebuilt(value, items, units) for value in old]
    item = next(items, 0)
    if type(item) is list:
        [new] = item
        return new
    if type(item) is not int or (item and type(old) not in (int, float)):
        raise ValueError(f"{item!r:.40} can't be added to {old!r:.40}")
    if item == 0:
        return old
    return (round(old * units) + item) / units if type(old) is float else old + item
