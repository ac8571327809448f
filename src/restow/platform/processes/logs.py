"""A consumer's log: its output and the words of its keeper, in one file on its volume that doesn't grow for ever."""

import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

LONGEST_BYTES: Final = 10_000_000
"""Of the log, and of the one before it."""

TOLD_LINES: Final = 5
TOLD_BYTES: Final = 4_000
SHORTEST_SECRET: Final = 4
"""What is shorter would blot out half of a text and protect nothing."""


def log_of(volume: Path) -> Path:
    return volume / "consumer.log"


def write_line(volume: Path, line: str) -> None:
    with log_of(volume).open("a", encoding="utf-8") as log:
        log.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {line}\n")


def last_words(volume: Path, begins: int, secrets: Iterable[str]) -> str:
    """The last lines that a process wrote, whose words begin there; without what nobody may read."""
    try:
        with log_of(volume).open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(0, size - TOLD_BYTES, begins if begins <= size else 0))
            lines = log.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    text = " | ".join([line.strip() for line in lines if line.strip()][-TOLD_LINES:])
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, "***")
    return text


def keep_short(volume: Path) -> None:
    """Starts a long log anew, with what was last in it kept beside it. Its writer appends, and notices nothing."""
    log = log_of(volume)
    with suppress(FileNotFoundError), log.open("rb") as stream:  # the volume may be lost; the next start makes it anew
        if stream.seek(0, os.SEEK_END) <= LONGEST_BYTES:
            return
        stream.seek(-LONGEST_BYTES, os.SEEK_END)
        with suppress(OSError):  # a full disk is one more reason to shorten it
            log.with_suffix(".log.1").write_bytes(stream.read())
        os.truncate(log, 0)
