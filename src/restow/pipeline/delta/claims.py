"""Claims: what lets a table and its dead-letter table, which can't commit together, act as one.

A consumer that is about to reject records of a partition claims the partition in the table first: a commit that leaves
its position as it is. While the claim is open, the table takes a cycle of that partition only from the process that
made the claim, and that cycle closes it. A consumer that opens the partition and finds an open claim replaces it by its
own, in both tables, and then reads which records are rejected already. So there is no moment at which one process
rejects a record and another one stores it. docs/exactly-once.md has the argument; sink.py and rejects.py carry it out.

A claim is a number that grows: odd while it is open, even when it is closed. It has its time and its consumer in it, so
that two processes don't make the same one.
"""

import time
from collections.abc import Iterable
from typing import Final

CONSUMERS: Final = 1024
"""Numbers stay below 2 ** 53, which every reader of JSON can represent."""


def new(consumer: int, known: Iterable[int | None]) -> int:
    """Greater than all known ones, whatever the clock says."""
    last_ms = max((claim // (2 * CONSUMERS) for claim in known if claim is not None), default=0)
    return (max(time.time_ns() // 1_000_000, last_ms + 1) * CONSUMERS + consumer % CONSUMERS) * 2 + 1


def closed(claim: int) -> int:
    return claim + 1


def is_open(claim: int | None) -> bool:
    return claim is not None and claim % 2 == 1


def is_closed(claim: int | None) -> bool:
    return not is_open(claim)
