"""What went wrong in Spark, in one line. Its own words are pages of plans and of Java's stack."""

import re
from typing import Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

LONGEST: Final = 400
CAUSE: Final = re.compile(r"^Caused by: (?:[\w.$]+\.)?(\w+(?:: .*)?)$", re.MULTILINE)
PYTHON: Final = re.compile(r"^(\w+(?:Error|Exception|Warning)\b.*)$", re.MULTILINE)
"""The last line of a traceback of a Python worker."""


def told(error: BaseException) -> str:
    """The cause at the bottom, if Spark names one."""
    match error:
        case Py4JJavaError():
            return _line(_bottom(str(error.java_exception.toString()) + "\n" + str(error)))
        case PySparkException():
            return _line(f"{type(error).__name__}: {_bottom(str(error))}")
        case Py4JError():
            return _line(f"Spark doesn't answer: {error}")
        case _:
            return _line(f"{type(error).__name__}: {error}")


def _bottom(text: str) -> str:
    for pattern in (PYTHON, CAUSE):
        found = pattern.findall(text)
        if found:
            return str(found[-1])
    return text.partition("\n")[0]


def _line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
