"""Numbers and names in sentences. Pure; used wherever restow explains itself."""

from collections.abc import Sequence
from typing import Final

MOST_NAMED: Final = 3
"""A sentence names this many things at most; of more it has only the number."""


def counted(number: int, noun: str) -> str:
    """1 record, 2,000 records."""
    return f"{number:,} {noun if number == 1 else f'{noun}s'}"


def listed(things: Sequence[object], noun: str = "partition") -> str:
    """a-0; a-0 and a-1; a-0, a-1 and a-2; 4 partitions."""
    if len(things) > MOST_NAMED:
        return f"{len(things)} {noun}s"
    *before, last = map(str, things)
    return f"{', '.join(before)} and {last}" if before else last


def clock(time: str) -> str:
    """2026-03-01T12:00:09.250Z as 2026-03-01 12:00:09 UTC."""
    return f"{time[:10]} {time[11:19]} UTC"


def said_by(by: str, reason: str) -> str:
    """`, by anna@host-a: maintenance`, as far as it is known who and why."""
    return (f", by {by}" if by else "") + (f": {reason}" if reason else "")


def percent(share: float) -> str:
    """104 %, 12.5 %, 0.03 %: no more digits than a reader needs."""
    per_cent = 100 * share
    return f"{per_cent:.2g} %" if per_cent < 1 else f"{round(per_cent, 1):.12g} %"


def apart(share: float, other: float) -> tuple[str, str]:
    """Two different shares as percentages, with as many digits as show the difference: 87.4 %, 87.36 %."""
    texts = percent(share), percent(other)
    digits = 2
    while texts[0] == texts[1] and digits < 12:
        texts = f"{100 * share:.{digits}f} %", f"{100 * other:.{digits}f} %"
        digits += 1
    return texts


def sized(size_bytes: float) -> str:
    """999 B, 1.5 kB, 32.0 MB, 1.2 GB: decimal units, as in restow.toml."""
    if size_bytes < 1000:
        return f"{size_bytes:.0f} B"
    for unit in ("kB", "MB", "GB"):
        size_bytes /= 1000
        if round(size_bytes, 1) < 1000:
            return f"{size_bytes:.1f} {unit}"
    return f"{size_bytes / 1000:,.1f} TB"


def spanned(seconds: float) -> str:
    """0.4 s, 12 s, 3 min 5 s, 2 h 10 min, 6 d 23 h."""
    seconds = max(0.0, seconds)
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 120:
        return f"{minutes} min {rest} s"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"
