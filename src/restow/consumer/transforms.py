"""Finds the function that makes rows of a topic's records, by its name. The light pipeline asks when it opens a topic.

A transform of the light consumer takes an iterable of `Record`s, those of one partition in the order of their offsets,
and gives an iterable of them: fewer, more or others. It keeps nothing between two calls.

    def without_tests(records: Iterable[Record]) -> Iterable[Record]:
        return (record for record in records if record.key != b"test")
"""

import importlib
from collections.abc import Callable, Iterable
from functools import reduce

from restow.errors import RestowError
from restow.kafka.reading import Record

Transform = Callable[[Iterable[Record]], Iterable[Record]]


class NoTransform(RestowError):
    """It can't be imported, or is no function."""


def transform_of(name: str | None) -> Transform:
    """`module:function`; nothing: the records as they are."""
    if name is None:
        return lambda records: records
    module, _, path = name.partition(":")
    try:
        found: object = reduce(getattr, path.split("."), importlib.import_module(module))
    except Exception as error:  # noqa: BLE001  whatever a person's module raises when it is imported is its refusal
        raise NoTransform(f"the transform {name} can't be imported: {type(error).__name__}: {error}") from None
    if not callable(found):
        raise NoTransform(f"the transform {name} is no function; it must take and give records")
    return found


def rows_of(name: str | None, records: Iterable[Record]) -> tuple[Record, ...]:
    try:
        return tuple(transform_of(name)(records))
    except NoTransform:
        raise
    except Exception as error:  # noqa: BLE001  a person's code may raise anything; nothing of the batch is stored then
        raise RestowError(f"the transform {name} failed: {type(error).__name__}: {error}") from None
