"""Lines that a process says to whoever reads its log: with the time, on stderr, one at a time."""

import sys
from datetime import UTC, datetime


def timed_note(message: str) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    sys.stderr.write(f"{now} {message}\n")
    sys.stderr.flush()
