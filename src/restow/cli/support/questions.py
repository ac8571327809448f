"""Questions to the person at the terminal, each with a default. Without a terminal nothing is asked: the default is
taken, and a note says which option would change it."""

import sys
from collections.abc import Callable

from restow.cli.support.output import note
from restow.errors import InvalidInput, RestowError


def is_answered_by_person() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def answer(question: str, default: str, option: str, check: Callable[[str], str | None]) -> str:
    """`check` returns what is wrong with an answer, or None. Raises InvalidInput if the default can't be used."""
    if not is_answered_by_person():
        if wrong := check(default):
            raise InvalidInput(f"{option} is needed: {wrong}")
        note(f"{question}: {default} ({option} says otherwise)")
        return default
    while True:
        given = _read(f"{question} [{default}]: " if default else f"{question}: ", option) or default
        if (wrong := check(given)) is None:
            return given
        note(wrong)


def confirmed(question: str) -> bool:
    """False without a terminal."""
    return is_answered_by_person() and _read(f"{question} [y/N]: ", "the option").lower() in ("y", "yes")


def _read(prompt: str, option: str) -> str:
    sys.stderr.write(prompt)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:  # Ctrl-D
        sys.stderr.write("\n")
        raise RestowError(f"no answer; nothing was written. Answer with {option} instead")
    return line.strip()
