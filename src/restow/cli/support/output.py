"""Output of the commands: JSON and tables on stdout, notes and a progress bar on stderr."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich import box
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table

PIPE_WIDTH = 200
"""Columns of a table in a pipe: wide enough that no cell is cut."""
LINE_EVERY_S = 60.0
"""Between two lines about the progress of a command whose output is no terminal."""


def print_json(value: object) -> None:
    """Prints one JSON document. NaN and infinity, which JSON doesn't have, raise ValueError."""
    # dict: any Mapping is written as an object, such as the SortedMapping of a definition's options
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False, default=dict) + "\n")


def print_line(line: str) -> None:
    """Flushes, because the next line may take a while."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def table(*columns: Column | str, caption: str | None = None) -> Table:
    return Table(*columns, box=box.SIMPLE_HEAD, caption=caption, caption_justify="left", pad_edge=False)


def right(header: str) -> Column:
    """A column of numbers."""
    return Column(header, justify="right", no_wrap=True)


def show(*renderables: RenderableType) -> None:
    """Prints tables and text. Cells are literal: brackets in a topic's name are no markup."""
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    Console(file=sys.stdout, width=width, markup=False, emoji=False, highlight=False).print(*renderables)


def note(message: str) -> None:
    """Tells the person at the terminal, off stdout."""
    sys.stderr.write(f"restow: {message}\n")


@contextmanager
def progress(what: str, total: int, clock: Callable[[], float] = time.monotonic) -> Iterator[Callable[[], None]]:
    """Yields a function to call after each of `total` pieces of work. Draws on stderr; off a terminal it writes a line
    a minute, so that the log of a long run shows how far it is."""
    if not sys.stderr.isatty():
        yield _Lines(what, total, clock).advance
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


class _Lines:
    def __init__(self, what: str, total: int, clock: Callable[[], float]) -> None:
        self._what, self._total, self._clock = what, total, clock
        self._done, self._said_s = 0, clock()

    def advance(self) -> None:
        self._done += 1
        now_s = self._clock()
        if now_s >= self._said_s + LINE_EVERY_S and self._done < self._total:
            self._said_s = now_s
            note(f"{self._what}: {self._done:,} of {self._total:,}")
