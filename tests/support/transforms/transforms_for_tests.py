"""Transforms of the live tests on the light pipeline."""

from collections.abc import Iterable

from restow.kafka.reading import Record


def even(records: Iterable[Record]) -> Iterable[Record]:
    return (record for record in records if record.offset % 2 == 0)


def failing(records: Iterable[Record]) -> Iterable[Record]:
    raise ValueError(f"{len(list(records))} records are too many")


NOT_A_FUNCTION = 3
