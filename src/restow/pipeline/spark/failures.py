"""Reduces a Spark error to one line. Its own text is pages of query plans and Java stack traces."""

import re
from typing import Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

LONGEST: Final = 400
JAVA_CAUSE: Final = re.compile(r"^Caused by: (?:[\w.$]+\.)?(\w+(?:: .*)?)$", re.MULTILINE)
PYTHON_ERROR: Final = re.compile(r"^(\w+(?:Error|Exception|Warning)\b.*)$", re.MULTILINE)
"""The last line of a Python worker's traceback."""


def summary(error: BaseException) -> str:
    """The root cause if Spark names one, else the error's first line."""
    match error:
        case Py4JJavaError():
            return _one_line(_root_cause(str(error.java_exception.toString()) + "\n" + str(error)))
        case PySparkException():
            return _one_line(f"{type(error).__name__}: {_root_cause(str(error))}")
        case Py4JError():
            return _one_line(f"Spark doesn't answer: {error}")
        case _:
            return _one_line(f"{type(error).__name__}: {error}")


def _root_cause(text: str) -> str:
    for pattern in (PYTHON_ERROR, JAVA_CAUSE):
        found = pattern.findall(text)
        if found:
            return str(found[-1])
    return text.partition("\n")[0]


def _one_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
