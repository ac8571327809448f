"""Imports a user's transform by its name, `module:function`, for the Spark and the light pipeline."""

import importlib
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

from restow.errors import RestowError
from restow.model import SortedMapping
from restow.pipeline.user_errors import described
from restow.protocol.field_types import BrokenTransforms


class TransformError(RestowError):
    """The transform can't be imported, fails, or returns something that can't be stored."""


class TransformRaised(TransformError):
    """The transform raised an error when it was called."""

    def __init__(self, maker: str, reason: str) -> None:
        """`maker`: the transform or the query, in words."""
        super().__init__(f"{maker} failed: {reason}")
        self.reason = reason
        self.is_users = True


def broken_of(
    names: Iterable[str | None], run: Callable[[str], object], redact: Callable[[str], str]
) -> BrokenTransforms:
    """The transforms for which `run` raises TransformError, each with the error. `redact` removes secrets from it."""
    broken = {}
    for name in sorted({name for name in names if name}):
        try:
            run(name)
        except TransformError as error:
            broken[name] = redact(str(error))
    return SortedMapping(broken)


def imported(name: str, contract: str) -> Callable[..., Any]:
    """`contract` completes "it must …" in the error message: what the function takes and returns."""
    module, _, path = name.partition(":")
    try:
        found: object = reduce(getattr, path.split("."), importlib.import_module(module))
    except Exception as error:  # noqa: BLE001  importing runs the user's module, which may raise anything
        raise TransformError(f"the transform {name} can't be imported: {described(error)}") from None
    if not callable(found):
        raise TransformError(f"the transform {name} is not a function; it must {contract}")
    return found
