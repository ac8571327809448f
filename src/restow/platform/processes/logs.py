"""Log files of bounded size: a consumer's, with its output and its supervisor's lines, on its volume; and that of a
`restow up` that is detached."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from restow.clock import utc_now
from restow.durable import LineWriter

READABLE_FILE: Final = 0o644
LONGEST_BYTES: Final = 10_000_000
"""Of the log, and of the one before it."""

QUOTED_LINES: Final = 5
QUOTED_BYTES: Final = 4_000
SHORTEST_SECRET: Final = 4
"""Masking shorter values would make a text unreadable and protect nothing."""


def log_of(volume: Path) -> Path:
    return volume / "consumer.log"


def line_of(words: str) -> str:
    """A line about what happens now, in the form of restow.logs, which a supervisor doesn't load."""
    return f"{utc_now()} INFO    supervisor  {words}"


def write_line(volume: Path, line: str, writer: LineWriter) -> None:
    log = os.open(log_of(volume), os.O_WRONLY | os.O_CREAT | os.O_APPEND, READABLE_FILE)
    try:
        writer.append(log, line)
    finally:
        os.close(log)


def last_lines(volume: Path, begins: int, secrets: Iterable[str]) -> str:
    """The last lines of a process whose output begins at this position, joined by " | ", with the secrets masked."""
    try:
        with log_of(volume).open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(0, size - QUOTED_BYTES, begins if begins <= size else 0))
            lines = log.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    text = " | ".join([line.strip() for line in lines if line.strip()][-QUOTED_LINES:])
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, "***")
    return text


def rotate(log: Path) -> int:
    """Moves the end of a log that is too long to NAME.log.1 and empties it. Writers append, and need not reopen. On a
    full disk, emptying it matters more than keeping a copy: returns the bytes that were dropped. Raises OSError."""
    before = log.with_suffix(".log.1")
    with suppress(FileNotFoundError), log.open("rb") as stream:  # the volume may be lost; the next start recreates it
        size = stream.seek(0, os.SEEK_END)
        if size <= LONGEST_BYTES:
            return 0
        stream.seek(-LONGEST_BYTES, os.SEEK_END)
        try:
            before.write_bytes(stream.read())
            dropped = 0
        except OSError:
            before.unlink(missing_ok=True)
            dropped = size
        os.truncate(log, 0)
        return dropped
    return 0
