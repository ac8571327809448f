"""Reduces a Spark error to one line. Its own text is pages of query plans and Java stack traces."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.errors import utils as errors

from restow.errors import RestowError
from restow.pipeline.targets import TargetCycle
from restow.pipeline.user_errors import Place, bounded, described, described_traceback, users_place, with_place

JAVA_CAUSE: Final = re.compile(r"^Caused by: (?:[\w.$]+\.)?(\w+(?:: .*)?)$", re.MULTILINE)
CALLED_FROM: Final = re.compile(r"was called from\n(.+\.py):(\d+)\s*$", re.MULTILINE)
"""In errors of expressions, while `call_sites` runs: the line of Python that made the expression."""

JAVA_FRAME: Final = re.compile(r"^\s+at .*$", re.MULTILINE)
TASK: Final = re.compile(r"Task (\d+) in stage")
NOT_OF_DATA: Final = re.compile(
    r"org\.apache\.kafka\.|OutOfMemoryError|MemoryError|TimeoutException|java\.(io|nio|net)\."
    r"|Python worker (exited|failed)|ExecutorLost|FetchFailed|failOnDataLoss|data loss|No space left"
    r"|Job \S+ cancelled|SparkContext was shut down"
)
"""In the error of a job: brokers, memory, a disk, a lost executor or a cancelled job are to blame, and no record."""


class JobFailed(RestowError):
    """A Spark job failed: reading, inside the transform, or writing."""

    def __init__(self, cycle: TargetCycle, error: Exception) -> None:
        reason = summary(error)
        transform, rows = cycle.target.transform, "the rows of the query in sql" if cycle.target.sql else "the records"
        what = f"the rows of the transform {transform}" if transform else rows
        super().__init__(f"{what} can't be written to {cycle.sink.name}: {reason}")
        self.reason = reason
        self.is_users = is_python(error)
        """Whether the user's Python code raised it."""
        text = whole_text(error)
        self.is_of_data = is_of_data(text)
        """Whether a record may be to blame."""
        self.task = failed_task(text)


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


def is_of_data(text: str) -> bool:
    """Whether a record may be to blame for an error, given its whole text."""
    return NOT_OF_DATA.search(JAVA_FRAME.sub("", text)) is None


def failed_task(text: str) -> int | None:
    """The number of the task whose error this is; None if it isn't known."""
    found = TASK.search(text)
    return None if found is None else int(found[1])


def whole_text(error: BaseException) -> str:
    """The error with Java's stack trace. PySpark leaves it out of many."""
    origin = getattr(error, "_origin", None)
    if origin is None:
        return str(error)
    from pyspark import SparkContext  # noqa: PLC0415  the class has the running JVM

    try:
        return f"{error}\n{SparkContext._jvm.org.apache.spark.util.Utils.exceptionString(origin)}"  # type: ignore[union-attr]
    except Exception:  # noqa: BLE001  a dead JVM raises whatever its socket raises
        return str(error)
