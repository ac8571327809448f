"""Finds the function that makes rows of a topic's records, by its name. The light pipeline asks when it opens a topic.

A transform of the light consumer takes an iterable of `Record`s, those of one partition in the order of their offsets,
and gives an iterable of them: fewer, more or others. It keeps nothing between two calls.

    def without_tests(records: Iterable[Record]) -> Iterable[Record]:
        return (record for record in records if record.key != b"test")
"""

from collections.abc import Callable, Iterable

from restow.errors import RestowError
from restow.kafka.reading import Record
from restow.pipeline.transforms import TransformError, imported

Transform = Callable[[Iterable[Record]], Iterable[Record]]


def transform_of(name: str | None) -> Transform:
    """`module:function`; nothing: the records as they are."""
    return (lambda records: records) if name is None else imported(name, "take and give records")


def rows_of(name: str | None, records: Iterable[Record]) -> tuple[Record, ...]:
    try:
        return tuple(transform_of(name)(records))
    except TransformError:
        raise
    except Exception as error:  # noqa: BLE001  a person's code may raise anything; nothing of the batch is stored then
        raise RestowError(f"the transform {name} failed: {type(error).__name__}: {error}") from None
