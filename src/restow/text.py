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


def percent(share: float) -> str:
    """104 %, 12.5 %, 0.03 %: no more digits than a reader needs."""
    per_cent = 100 * share
    return f"{per_cent:.2g} %" if per_cent < 1 else f"{round(per_cent, 1):.12g} %"
