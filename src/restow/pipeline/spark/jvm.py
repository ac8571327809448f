"""The JVM of a session: started before it, with its compiler out of the way; and its classes, by their names.

`session.py` starts it; whoever calls Java asks here for a class.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

COMPILER: Final = "C2 Compiler"
"""What Linux has of the names of its threads begins so."""
NICENESS: Final = 10
"""It gets a tenth of a core that is wanted by something else too, and all that is left."""


def launch(properties: dict[str, str]) -> None:
    """With what a session is to have, unless there is one already: a process has one JVM for all its sessions.

    On one core the compiler that makes code fast competes with the code. It gives way: a consumer is ready sooner and
    its first cycles are as short as without it, and what it works hard on becomes fast all the same.
    """
    SparkContext._ensure_initialized(conf=SparkConf().setAll(list(properties.items())))
    process: Any = getattr(SparkContext._gateway, "proc", None)
    if process is not None:  # and not one that somebody else has started
        with suppress(OSError):  # as where there is no /proc
            _make_nice(process.pid)


def _make_nice(process: int) -> None:
    """Threads that the compiler starts later inherit it."""
    for task in Path(f"/proc/{process}/task").iterdir():
        if task.joinpath("comm").read_text().startswith(COMPILER):
            os.setpriority(os.PRIO_PROCESS, int(task.name), NICENESS)


def java_class(session: SparkSession, name: str) -> Any:
    """By its whole name, in one question. `session._jvm.org.apache…` asks for every part of the name, and each time the
    JVM looks for a class of that name in all of its jars."""
    return getattr(session._jvm, name)
