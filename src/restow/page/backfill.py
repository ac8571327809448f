"""Reads the pictures of the last day when the page starts, beside the newest ones and in small steps.

Of a large group not every picture is read: the time that it takes stays about the same, and history.py would merge
them anyway.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from restow.errors import InvalidInput
from restow.kafka.channels.status_history import StatusRecord
from restow.page.samples import Sample, Sampler
from restow.picture.parts import CHANGE_KEY, Assembler
from restow.picture.publication import WHOLE_EVERY_S

APART_S_PER_BYTE: Final = 30.0 / 100_000
"""A picture of 100 kB is read for every 30 s of the past, a larger one more rarely: to take one apart costs time by its
size, and the day of a large group must not cost more than that of a small one."""
MOST_APART_S: Final = 900.0


class Backfill:
    """Takes the topic's records in their order, and makes samples of as many whole pictures as are due."""

    def __init__(self) -> None:
        self._sampler = Sampler()
        self._assembler = Assembler()
        self._size = 0
        self._due_ms = 0

    def samples(self, records: Iterable[StatusRecord]) -> Iterator[Sample]:
        for record in records:
            if record.key == CHANGE_KEY or record.time_ms < self._due_ms:
                continue
            try:
                self._size += len(record.value)
                is_whole = self._assembler.take(record.value)
            except InvalidInput:
                continue  # the reader of the newest picture reports what it can't read
            if is_whole and self._assembler.picture is not None:
                apart_s = min(MOST_APART_S, max(WHOLE_EVERY_S, self._size * APART_S_PER_BYTE))
                self._due_ms, self._size = record.time_ms + round((apart_s - WHOLE_EVERY_S / 2) * 1000), 0
                yield self._sampler.sampled(self._assembler.picture)
