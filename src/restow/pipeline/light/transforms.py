"""Finds the light pipeline's transforms by name and runs them.

A transform takes the `Record`s of one partition, in the order of their offsets, and returns an iterable of `Record`s:
fewer, more or others. It keeps no state between calls.

    def without_tests(records: Iterable[Record]) -> Iterable[Record]:
        return (record for record in records if record.key != b"test")
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from restow.kafka.reading import Record
from restow.model import TopicPartition
from restow.pipeline.locating import Spans, locate, named
from restow.pipeline.searching import TooManyBad
from restow.pipeline.sinks import Span
from restow.pipeline.transforms import TransformError, imported
from restow.pipeline.user_errors import described
from restow.protocol.topic_service import TopicService

LOCATE_WITHIN_S: Final = 5.0
"""How long to look for the record on which a transform fails. Commands wait for it."""

Transform = Callable[[Iterable[Record]], Iterable[Record]]


def transform_of(name: str | None) -> Transform:
    """Imports `module:function`; None is the identity. Raises TransformError."""
    return (lambda records: records) if name is None else imported(name, "take and give records")


def check_service(service: TopicService) -> None:
    """Raises TransformError if a light consumer can't do what the definition wants."""
    for name in ("format", "sql", "options", "partition_by"):
        if getattr(service, name):
            raise TransformError(f'{name} needs Spark; leave it out, or write pipeline = "spark" in [consumer]')
    transform_of(service.transform)


def rows_of(name: str | None, records: Sequence[Record]) -> tuple[Record, ...]:
    """Raises TransformError, which names the record on which the transform fails."""
    transform = transform_of(name)
    try:
        rows: tuple[object, ...] = tuple(transform(records))
    except Exception as error:  # noqa: BLE001  user code may raise anything
        where, first = _located(transform, records, error)
        raise TransformError(f"the transform {name} fails on {where}: {described(first)}") from None
    return _checked(name, rows)


def _checked(name: str | None, rows: tuple[object, ...]) -> tuple[Record, ...]:
    made = tuple(row for row in rows if isinstance(row, Record))
    if len(made) < len(rows):
        kind = next(type(row).__name__ for row in rows if not isinstance(row, Record))
        raise TransformError(f"the transform {name} returned a value of type {kind}; it must return records")
    return made


def split(name: str | None, records: Sequence[Record], most: int) -> tuple[tuple[Record, ...], dict[int, str]]:
    """The rows, and the bad records, each by its offset with the error: those on which the transform fails alone.
    Raises TooManyBad if there are more than `most`, and TransformError if the transform fails on the others too."""
    transform = transform_of(name)
    try:
        rows: tuple[object, ...] = tuple(transform(records))
    except MemoryError:
        return rows_of(name, records), {}
    except Exception:  # noqa: BLE001  user code may raise anything
        bad = _bad(transform, records, most)
        return rows_of(name, [record for record in records if record.offset not in bad]), bad
    return _checked(name, rows), {}


def _bad(transform: Transform, records: Sequence[Record], most: int) -> dict[int, str]:
    found: dict[int, str] = {}
    for record in records:
        try:
            tuple(transform([record]))
        except Exception as error:  # noqa: BLE001  user code may raise anything
            found[record.offset] = described(error)
        if len(found) > most:
            raise TooManyBad({TopicPartition(record.topic, record.partition): found})
    return found


def _located(transform: Transform, records: Sequence[Record], error: Exception) -> tuple[str, Exception]:
    """The record on which the transform fails, or the offsets among which it is, and the error it raises there."""
    deadline_s, last = time.monotonic() + LOCATE_WITHIN_S, error

    def fails(spans: Spans) -> bool | None:
        nonlocal last
        if time.monotonic() > deadline_s:
            return None
        try:
            tuple(transform([record for record in records if record.offset in range(*spans[partition])]))
        except Exception as error:  # noqa: BLE001  user code may raise anything
            last = error
            return True
        return False

    if not records:
        return "no records", error
    partition = TopicPartition(records[0].topic, records[0].partition)
    return named(locate({partition: Span(records[0].offset, records[-1].offset + 1)}, fails)), last
