"""What the subcommands share: reading option values, one-line errors, JSON, tables and the progress bar.

Every module of `restow.cli` builds its parser from these. The functions that read an option's value are `type=`
arguments of argparse: each refuses a wrong value with a message that says what would be right.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

from rich import box
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table

from restow.errors import InvalidInput

Subparsers = argparse._SubParsersAction  # what `add_subparsers` returns; argparse has no public name for it

T = TypeVar("T")

PIPE_WIDTH = 200
"""Columns of a table that doesn't go to a terminal: wide enough that no cell is cut."""


class Parser(argparse.ArgumentParser):
    """An argument parser that keeps the line breaks of its texts and answers a mistake with one line."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
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
    """Finite, not below `least`, and truly greater than `above`."""
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


def one_of(names: Collection[str], noun: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in names:
            raise argparse.ArgumentTypeError(f"there is no {noun} '{text}'; known are {', '.join(names)}")
        return text

    return read


def list_of(item: Callable[[str], T]) -> Callable[[str], tuple[T, ...]]:
    """Values separated by commas, in the order they are given; a value that comes twice counts once."""

    def read(text: str) -> tuple[T, ...]:
        return tuple(dict.fromkeys(item(part.strip()) for part in text.split(",")))

    return read


def print_json(value: object) -> None:
    """One JSON document on stdout. A number JSON has no word for (NaN, infinity) is a bug, not output."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")


def table(*columns: Column, caption: str | None = None) -> Table:
    return Table(*columns, box=box.SIMPLE_HEAD, caption=caption, caption_justify="left", pad_edge=False)


def right(header: str) -> Column:
    """A column of numbers."""
    return Column(header, justify="right", no_wrap=True)


def show(*renderables: RenderableType) -> None:
    """Tables and text on stdout. Cells are taken literally: brackets in a topic's name are no markup."""
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    Console(file=sys.stdout, width=width, markup=False, emoji=False, highlight=False).print(*renderables)


def note(message: str) -> None:
    """A word to the person at the terminal, kept off stdout."""
    sys.stderr.write(f"restow: {message}\n")


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Gives a function to call after each of `total` pieces of work. Draws on stderr, and only on a terminal."""
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    silent = not sys.stderr.isatty()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=silent) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)
