"""Reduces a Spark error to one line. Its own text is pages of query plans and Java stack traces."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.errors import utils as errors

from restow.pipeline.user_errors import Place, bounded, described, described_traceback, users_place, with_place

JAVA_CAUSE: Final = re.compile(r"^Caused by: (?:[\w.$]+\.)?(\w+(?:: .*)?)$", re.MULTILINE)
CALLED_FROM: Final = re.compile(r"was called from\n(.+\.py):(\d+)\s*$", re.MULTILINE)
"""In errors of expressions, while `call_sites` runs: the line of Python that made the expression."""


def summary(error: BaseException) -> str:
    """The error in the user's Python code if there is one, else the root cause that Spark names, else the error's first
    line; with the place in the user's file where it is known."""
    match error:
        case Py4JJavaError():
            return _reduced(f"{error.java_exception.toString()}\n{error}", users_place(error))
        case PySparkException():
            return _reduced(f"{type(error).__name__}: {str(error).strip()}", users_place(error))
        case Py4JError():
            return bounded(f"Spark doesn't answer: {error}")
        case _:
            return described(error)


def is_python(error: BaseException) -> bool:
    """Whether a Python worker of Spark raised it, which runs the user's code."""
    return described_traceback(str(error)) is not None


@contextmanager
def call_sites() -> Iterator[None]:
    """Has errors of expressions name the line of Python that made them. It costs several calls to the JVM for each
    method of a DataFrame, so that sessions don't do it by default."""
    switch: Any = errors
    before, switch._enable_debugging_cache = switch._enable_debugging_cache, True
    try:
        yield
    finally:
        switch._enable_debugging_cache = before


def _reduced(text: str, place: Place | None) -> str:
    if described_in_python := described_traceback(text):
        return described_in_python
    if found := CALLED_FROM.search(text):
        place = Place(found[1], int(found[2]))
    causes = JAVA_CAUSE.findall(text)
    return with_place(causes[-1] if causes else text.partition("\n")[0].rstrip(";"), place)
