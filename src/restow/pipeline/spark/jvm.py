"""The JVM of a Spark session: starts it with a low-priority compiler, and finds Java classes by name."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

COMPILER: Final = "C2 Compiler"
"""The prefix of the thread names that Linux shows."""
NICENESS: Final = 10
"""On a contended core the compiler gets about a tenth; on an idle one all it wants."""


def launch(properties: dict[str, str]) -> None:
    """Starts the JVM with the session's properties, unless it runs: a process has one JVM for all its sessions.

    On one core the optimizing compiler (C2) competes with the code that it compiles. At a low priority it delays
    neither readiness nor the first cycles, and hot code becomes fast nevertheless.
    """
    SparkContext._ensure_initialized(conf=SparkConf().setAll(list(properties.items())))
    process: Any = getattr(SparkContext._gateway, "proc", None)
    if process is not None:  # None if another program started the JVM
        with suppress(OSError):  # there is no /proc outside of Linux
            _lower_compiler_priority(process.pid)


def _lower_compiler_priority(process: int) -> None:
    """Threads that the compiler starts later inherit the priority."""
    for task in Path(f"/proc/{process}/task").iterdir():
        if task.joinpath("comm").read_text().startswith(COMPILER):
            os.setpriority(os.PRIO_PROCESS, int(task.name), NICENESS)


def java_class(session: SparkSession, name: str) -> Any:
    """Looks up the full name in one call. `session._jvm.org.apache…` makes a call for every part of the name, and each
    time the JVM searches all jars for a class of that name."""
    return getattr(session._jvm, name)
