"""The JVM of a Spark session: starts it with a low-priority compiler, and finds Java classes by name."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any, Final

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

COMPILER: Final = "C2 Compiler"
"""The prefix of the thread names that Linux shows."""
NICER: Final = 4
"""Than the process itself. On a contended core the compiler gets more than a quarter; on an idle one all it wants. With
a tenth, a consumer at full load needed 17 s for a cycle when its JVM had discarded compiled code, and 8 s with this."""
NICEST: Final = 19
LAUNCHER: Final = "SPARK_LAUNCHER_OPTS"
LAUNCHER_OPTIONS: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Of the short-lived JVM in which Spark's scripts put the command of the real one together. The compiler that makes
long-lived code fast would only compete with it."""

UNWANTED: Final = b"WARNING: Using incubator modules"
"""Spark needs the module jdk.incubator.vector, and Java says so."""
STDERR: Final = 2


def launch(properties: dict[str, str]) -> None:
    """Starts the JVM with the session's properties, unless it runs: a process has one JVM for all its sessions.

    On one core the optimizing compiler (C2) competes with the code that it compiles. At a lower priority it delays
    readiness and the first cycles less. But hot code must become fast soon, at the start and whenever the JVM has
    discarded what it compiled.
    """
    if SparkContext._gateway is None:
        os.environ.setdefault(LAUNCHER, LAUNCHER_OPTIONS)
        with _filtered_stderr() as stderr:
            launch_jvm: Any = launch_gateway
            gateway = launch_jvm(SparkConf().setAll(list(properties.items())), {"stdout": stderr, "stderr": stderr})
        SparkContext._ensure_initialized(gateway=gateway)
    process = _process()
    if process is not None:
        with suppress(OSError):  # there is no /proc outside of Linux
            _lower_compiler_priority(process)


def signal_jvm(number: signal.Signals) -> None:
    """Does nothing if there is no JVM, or another program started it."""
    process = _process()
    if process is not None:
        with suppress(OSError):  # it has ended
            os.kill(process, number)


def _process() -> int | None:
    """The JVM's process id; None if another program started it."""
    process: Any = getattr(SparkContext._gateway, "proc", None)
    return None if process is None else int(process.pid)


@contextmanager
def _filtered_stderr() -> Iterator[int]:
    """A file descriptor whose lines go to our stderr, without the lines that Java prints at every start and no option
    silences."""
    reading, writing = os.pipe()
    Thread(target=_forward, args=(reading,), name="stderr of the JVM", daemon=True).start()
    try:
        yield writing
    finally:
        os.close(writing)  # the JVM has its own copy


def _forward(reading: int) -> None:
    with open(reading, "rb") as lines:
        for line in lines:
            if not line.startswith(UNWANTED):
                with suppress(OSError, ValueError):  # our stderr is closed; the JVM must not block on a full pipe
                    os.write(STDERR, line)


def _lower_compiler_priority(process: int) -> None:
    """Threads that the compiler starts later inherit the priority."""
    niceness = min(os.getpriority(os.PRIO_PROCESS, process) + NICER, NICEST)
    for task in Path(f"/proc/{process}/task").iterdir():
        if task.joinpath("comm").read_text().startswith(COMPILER):
            os.setpriority(os.PRIO_PROCESS, int(task.name), niceness)


def java_class(session: SparkSession, name: str) -> Any:
    """Looks up the full name in one call. `session._jvm.org.apache…` makes a call for every part of the name, and each
    time the JVM searches all jars for a class of that name."""
    return getattr(session._jvm, name)


def garbage_collectors(session: SparkSession) -> list[Any]:
    """As Java describes them: each tells the time that it has taken."""
    return list(java_class(session, "java.lang.management.ManagementFactory").getGarbageCollectorMXBeans())
