"""Finds a person's function by its name, `module:function`, for the Spark pipeline and for the light one."""

import importlib
from collections.abc import Callable
from functools import reduce
from typing import Any

from restow.errors import RestowError


class TransformTrouble(RestowError):
    """It can't be imported, or can't be used as it is."""


def function_named(name: str, wanted: str) -> Callable[..., Any]:
    """`wanted` follows "it must": what such a function takes and gives."""
    module, _, path = name.partition(":")
    try:
        found: object = reduce(getattr, path.split("."), importlib.import_module(module))
    except Exception as error:  # noqa: BLE001  whatever a person's module raises when it is imported is its refusal
        words = " ".join(f"{type(error).__name__}: {error}".split())
        raise TransformTrouble(f"the transform {name} can't be imported: {words}") from None
    if not callable(found):
        raise TransformTrouble(f"the transform {name} is no function; it must {wanted}")
    return found
