"""The records of the benchmark: orders as JSON, of which the transform keeps nine of ten."""

import random
from collections.abc import Iterator
from typing import Final

DELIVERED, CANCELLED = "DELIVERED", "CANCELLED"
CANCELLED_EVERY: Final = 10
"""Of each partition, every tenth record is cancelled: a filter that drops something."""
KEPT: Final = 1 - 1 / CANCELLED_EVERY
LETTERS: Final = "etaoinshrdlucmfwypvbgk"
TEXT_LENGTH: Final = 1 << 20
STEP: Final = 7919
"""Between the beginnings of the texts of two records: a prime, so that texts differ."""


def _text() -> bytes:
    """Words that are always the same, and hardly compressible."""
    source = random.Random(1)  # seeded: every run has the same records
    words = ["".join(source.choices(LETTERS, k=source.randint(2, 9))) for _ in range(2000)]
    return " ".join(source.choices(words, k=TEXT_LENGTH // 4))[:TEXT_LENGTH].encode()


TEXT: Final = _text()


def value(number: int, in_partition: int, size: int) -> bytes:
    """The record of this number, the `in_partition`-th of its partition, in exactly `size` bytes."""
    status = CANCELLED if in_partition % CANCELLED_EVERY == CANCELLED_EVERY - 1 else DELIVERED
    head = (
        f'{{"id":{number},"customer":"c{number * STEP % 99991}","status":"{status}",'
        f'"amount":{number % 9973 / 100},"note":"'
    ).encode()
    length = size - len(head) - 2
    if length < 0:
        raise ValueError(f"a record needs {len(head) + 2} bytes, not {size}")
    start = number * STEP % (TEXT_LENGTH - length)
    return b'%b%b"}' % (head, TEXT[start : start + length])


def kept(records: int) -> int:
    """How many of the first records of a partition the filter keeps."""
    return records - records // CANCELLED_EVERY


def numbered(partitions: int) -> Iterator[tuple[int, int, int]]:
    """The number of each record, its partition, and its place in the partition: one record for each in turn."""
    number = 0
    while True:
        yield number, number % partitions, number // partitions
        number += 1
