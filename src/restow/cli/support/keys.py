"""Single keys from the terminal, without Enter, for screens that a person moves through."""

import os
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

Key = Literal["up", "down", "page up", "page down", "home", "end", "quit"]

KEYS: Final[dict[bytes, Key]] = {
    b"\x1b[A": "up",
    b"\x1b[B": "down",
    b"\x1bOA": "up",
    b"\x1bOB": "down",
    b"\x1b[5~": "page up",
    b"\x1b[6~": "page down",
    b"\x1b[H": "home",
    b"\x1b[F": "end",
    b"k": "up",
    b"j": "down",
    b" ": "page down",
    b"g": "home",
    b"G": "end",
    b"q": "quit",
    b"\x1b": "quit",
}
MOST_BYTES: Final = 16


@contextmanager
def single_keys() -> Iterator[None]:
    """Ctrl-C still interrupts. The terminal is as before at the end, also after an error."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def pressed(within_s: float = 0.0) -> Key | None:
    """The key that was pressed; None if none was within this time, or one without a meaning."""
    terminal = sys.stdin.fileno()
    ready, _, _ = select.select([terminal], [], [], within_s)
    return KEYS.get(os.read(terminal, MOST_BYTES)) if ready else None
