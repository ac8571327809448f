"""Finds the light pipeline's transforms by name and runs them.

A transform takes the `Record`s of one partition, in the order of their offsets, and returns an iterable of `Record`s:
fewer, more or others. It keeps no state between calls.

    def without_tests(records: Iterable[Record]) -> Iterable[Record]:
        return (record for record in records if record.key != b"test")
"""

from collections.abc import Callable, Iterable

from restow.errors import RestowError
from restow.kafka.reading import Record
from restow.pipeline.transforms import TransformError, imported

Transform = Callable[[Iterable[Record]], Iterable[Record]]


def transform_of(name: str | None) -> Transform:
    """Imports `module:function`; None is the identity. Raises TransformError."""
    return (lambda records: records) if name is None else imported(name, "take and give records")


def rows_of(name: str | None, records: Iterable[Record]) -> tuple[Record, ...]:
    try:
        return tuple(transform_of(name)(records))
    except TransformError:
        raise
    except Exception as error:  # noqa: BLE001  user code may raise anything
        raise RestowError(f"the transform {name} failed: {type(error).__name__}: {error}") from None
