"""What a long-running process says to whoever reads its log: a line with the time, on stderr, at once."""

import sys
from datetime import UTC, datetime


def say(line: str) -> None:
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    sys.stderr.write(f"{now} {line}\n")
    sys.stderr.flush()
