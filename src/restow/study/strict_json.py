"""Reads JSON files that people write, strictly: an error names the file, the place and what would be right.

A file becomes an `Element`; its parts are elements too and know their place (`speeds.orders.7`, `[3].orders.7`).
Repeated keys, NaN, Infinity and `true` for a number are refused; Python's own reader accepts them. Used for traces
(workload.py) and plans (plan_file.py).
"""

import json
import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from restow.errors import InvalidInput

WIDEST_VALUE: Final = 40
"""Characters of a wrong value that a message shows."""


@dataclass(frozen=True, slots=True)
class Element:
    file: Path
    place: str
    """Its path in the file; empty for the whole file."""
    value: object

    def refused(self, wanted: str) -> InvalidInput:
        """The error for a value that can't be used; `wanted` is what would be right."""
        return InvalidInput(f"{self.file}: {self.place or 'the whole'} is {self.shown}; it must be {wanted}")

    @property
    def shown(self) -> str:
        text = json.dumps(self.value, ensure_ascii=False)
        return text if len(text) <= WIDEST_VALUE else f"{text[: WIDEST_VALUE - 1]}…"

    def entries(self, wanted: str) -> Iterator[tuple[str, "Element"]]:
        """Entries of an object, in the file's order."""
        if not isinstance(self.value, dict):
            raise self.refused(wanted)
        prefix = f"{self.place}." if self.place else ""
        for key, value in self.value.items():
            yield key, Element(self.file, f"{prefix}{key}", value)

    def fields(self, wanted: str, known: Collection[str], required: Collection[str] = ()) -> dict[str, "Element"]:
        """Entries of an object with known keys. Refuses unknown keys and missing required ones."""
        found = dict(self.entries(wanted))
        for key, element in found.items():
            if key not in known:
                raise InvalidInput(f"{self.file}: {element.place} is no known key; known are {', '.join(known)}")
        for key in required:
            if key not in found:
                inside = f" in {self.place}" if self.place else ""
                raise InvalidInput(f"{self.file}: there is no '{key}'{inside}; it must be given")
        return found

    def elements(self, wanted: str) -> Iterator["Element"]:
        """Elements of an array."""
        if not isinstance(self.value, list):
            raise self.refused(wanted)
        for index, value in enumerate(self.value):
            yield Element(self.file, f"{self.place}[{index}]", value)

    def text(self, wanted: str) -> str:
        if not isinstance(self.value, str):
            raise self.refused(wanted)
        return self.value

    def number(self, wanted: str, least: float = 0.0, above: float = -math.inf) -> float:
        """A finite number, `least` or more and above `above`."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self.refused(wanted)
        try:
            number = float(self.value)
        except OverflowError:
            raise self.refused(wanted) from None
        if not (math.isfinite(number) and number >= least and number > above):
            raise self.refused(wanted)
        return number

    def whole_number(self, wanted: str, least: int = 0) -> int:
        number = self.number(wanted, least=least)
        if not number.is_integer():
            raise self.refused(wanted)
        return int(number)


def read(file: Path) -> Element:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{file}: can't be read ({(error.strerror or str(error)).lower()})") from None
    return parse(file, content)


def parse(file: Path, content: bytes) -> Element:
    """`file` is only for messages."""
    try:
        whole = Element(file, "", json.loads(content, object_pairs_hook=_object))
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InvalidInput(f"{file}: {place} is not JSON ({error.msg.lower()}); the file must be JSON") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file}: byte {error.start} is not UTF-8; the file must be JSON in UTF-8") from None
    except (ValueError, RecursionError):
        raise InvalidInput(f"{file}: holds a number that is too long, or is nested too deeply, to be read") from None
    for place in _places_of_repeated_keys(whole):
        raise InvalidInput(f"{file}: {place} is given twice; it must be given once")
    return whole


class _Repeating(dict[str, object]):
    """An object with a repeated key."""

    repeated: str


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Marks a repeated key. Its place isn't known during parsing, so the error comes later."""
    entries = dict(pairs)
    if len(entries) == len(pairs):
        return entries
    marked = _Repeating(entries)
    keys = [key for key, _ in pairs]
    marked.repeated = next(key for index, key in enumerate(keys) if key in keys[:index])
    return marked


def _places_of_repeated_keys(element: Element) -> Iterator[str]:
    if isinstance(element.value, dict):
        if isinstance(element.value, _Repeating):
            yield f"{element.place}.{element.value.repeated}".removeprefix(".")
        for _, inner in element.entries("an object"):
            yield from _places_of_repeated_keys(inner)
    elif isinstance(element.value, list):
        for inner in element.elements("an array"):
            yield from _places_of_repeated_keys(inner)
