"""Option types, and a parser that answers a mistake with one line.

The functions are for argparse's `type=`: each refuses a wrong value with a message that says what would be right.
"""

import argparse
import math
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

from restow.errors import InvalidInput

Subparsers = argparse._SubParsersAction  # what `add_subparsers` returns; argparse has no public name for it

T = TypeVar("T")


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the line breaks of help texts, and puts each command and its help on one line."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            self._action_max_length += self._indent_increment  # argparse forgets to count the commands' indentation

    def _format_action(self, action: argparse.Action) -> str:
        heading = getattr(action, "heading", None)
        text = super()._format_action(action)
        return (
            text if heading is None else f"\n{' ' * (self._current_indent - self._indent_increment)}{heading}:\n{text}"
        )


@contextmanager
def under(heading: str, commands: "Subparsers[Any]") -> Iterator[None]:
    """Shows the commands that are added meanwhile under this heading."""
    before = len(commands._choices_actions)
    yield
    for first in commands._choices_actions[before : before + 1]:
        first.heading = heading  # type: ignore[attr-defined]  # for HelpFormatter


class Parser(argparse.ArgumentParser):
    """Answers a mistake with one line."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", HelpFormatter)
        super().__init__(**settings)

    def error(self, message: str) -> NoReturn:
        self.exit(InvalidInput.exit_code, f"restow: {message}; see `{self.prog} --help`\n")


def whole_number(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"'{text}' can't be used; it must be a whole number, {least} or more")
        return value

    return read


def number(least: float = -math.inf, *, above: float = -math.inf) -> Callable[[str], float]:
    """A finite number, at least `least` and greater than `above`."""
    bounds = [f"{least:g} or more"] if least > -math.inf else []
    bounds += [f"above {above:g}"] if above > -math.inf else []
    wanted = ", ".join(["a finite number", *bounds])

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value >= least and value > above):
            raise argparse.ArgumentTypeError(f"'{text}' can't be used; it must be {wanted}")
        return value

    return read


def duration(text: str) -> float:
    """Seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h)", text)
    if not found or float(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a duration; write 90s, 4m or 1h")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]


def one_of(names: Collection[str], noun: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in names:
            raise argparse.ArgumentTypeError(f"there is no {noun} '{text}'; known are {', '.join(names)}")
        return text

    return read


def setting(text: str) -> tuple[str, str]:
    """NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise argparse.ArgumentTypeError(f"'{text}' is not a setting; write NAME=VALUE, like worth=3")
    return name.strip(), value.strip()


def list_of(item: Callable[[str], T]) -> Callable[[str], tuple[T, ...]]:
    """Values separated by commas, in their order and without repetitions."""

    def read(text: str) -> tuple[T, ...]:
        return tuple(dict.fromkeys(item(part.strip()) for part in text.split(",")))

    return read
