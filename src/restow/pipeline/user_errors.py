"""Describes an error in a user's code in one line: its type, its message, and its place in the user's file.

    ValueError: a seven (/shop/tables.py, line 31, in checked)

Source lines and values of variables are left out: they may have secrets in them. `transforms.py` and both pipelines
call it, for an exception that was raised in this process, and for a traceback that a Python worker of Spark sent as
text.
"""

import re
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import restow

LONGEST: Final = 400
"""Characters of a message. Libraries put whole documents into theirs."""
LIBRARIES: Final = re.compile(r"/(site|dist)-packages/|/lib/python3[^/]*/|/pyspark[^/]*\.zip/|^<")
"""The files of Python itself and of what is installed. A user's own package may be installed too."""
MACHINERY: Final = re.compile(
    r"/pyspark/|/py4j/|/importlib/|/pyspark[^/]*\.zip/|/cloudpickle/|^<|^"
    + re.escape(str(Path(restow.__file__).parent))
)
"""The files between restow and the user's code."""
BLOCK: Final = "Traceback (most recent call last):\n"
FRAME: Final = re.compile(r'\s+File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?$')


class Place(NamedTuple):
    file: str
    line: int
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}" + (f", in {self.function}" if self.function else "")


def described(error: BaseException) -> str:
    """The error, and the deepest place in the user's code that its traceback has."""
    if isinstance(error, SyntaxError) and error.filename:
        return with_place(f"{_name(error)}: {error.msg}", Place(error.filename, error.lineno or 1))
    places = _places(error)
    return with_place(f"{_name(error)}: {error}".removesuffix(": "), _users(places) or _last(places))


def users_place(error: BaseException) -> Place | None:
    """The deepest place in the user's own files that the error's traceback has; None if it has none."""
    return _users(_places(error))


def described_traceback(text: str) -> str | None:
    """The same for the last traceback in a text; None if it has none."""
    _, found, block = text.rpartition(BLOCK)
    if not found:
        return None
    places: list[Place] = []
    message: list[str] = []
    for line in block.splitlines():
        if frame := None if message else FRAME.match(line):
            places.append(Place(frame["file"], int(frame["line"]), frame["function"] or ""))
        elif message and (not line.strip() or line.startswith("\tat ")):
            break  # what follows is Java's own stack trace
        elif message or (line and not line[0].isspace()):
            message.append(line)
    return with_place("\n".join(message), _users(places) or _last(places)) if message else None


def with_place(message: str, place: Place | None) -> str:
    return f"{bounded(message)} ({place})" if place else bounded(message)


def bounded(text: str) -> str:
    """One line of at most LONGEST characters."""
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _name(error: BaseException) -> str:
    """As Python prints it in a traceback."""
    kind = type(error)
    return (
        kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    )


def _places(error: BaseException) -> list[Place]:
    frames = traceback.extract_tb(error.__traceback__)
    return [Place(frame.filename, frame.lineno or 0, frame.name) for frame in frames]


def _users(places: Sequence[Place]) -> Place | None:
    own = (place for place in reversed(places) if not MACHINERY.search(place.file))
    return next((place for place in own if not LIBRARIES.search(place.file)), None)


def _last(places: Sequence[Place]) -> Place | None:
    """A user's package may be installed like a library."""
    return next((place for place in reversed(places) if not MACHINERY.search(place.file)), None)
