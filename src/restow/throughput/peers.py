"""The contenders beside restow, each a process of its own that ends when this one does."""

import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import IO, Final

from restow.errors import RestowError
from restow.java.jars import fetch
from restow.pipeline.spark.session import Resources
from restow.settings import Consumer
from restow.study.throughput import BARE, LOOP, STREAMING, TUNED, Commit
from restow.throughput.commits import Commits
from restow.throughput.contender import Contender, Setting, Unavailable
from restow.throughput.jars import DELTA
from restow.throughput.usage import on_cores

END_WITHIN_S: Final = 60.0
LAST_LINES: Final = 1500
"""Characters of a dead process's output that an error shows."""


@contextmanager
def running(name: str, setting: Setting) -> Iterator[Contender]:
    """Raises Unavailable."""
    need(name)
    errors = setting.directory / "stderr.txt"
    command = [sys.executable, "-P", "-m", "restow.throughput.peer", name, json.dumps(_options(setting))]
    environment = {**os.environ, "POLARS_MAX_THREADS": str(len(setting.cores))}
    with errors.open("w") as stderr, on_cores(setting.cores):
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield (Counting if name == BARE else Storing)(process, setting)
    finally:
        process.stdin.close()  # it ends then
        try:
            process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def need(name: str) -> None:
    """Fetches what a peer needs. Raises Unavailable."""
    if name == LOOP and importlib.util.find_spec("polars") is None:
        raise Unavailable("Polars is not installed; install it: pip install 'restow[bench]'")
    if name in (STREAMING, TUNED):
        try:
            fetch(DELTA)
        except RestowError as error:
            raise Unavailable(str(error)) from None


def _options(setting: Setting) -> Mapping[str, object]:
    return {
        "bootstrap": setting.kafka.bootstrap,
        "case": asdict(setting.case),
        "directory": str(setting.directory),
        "heap_mb": Resources(memory_mb=Consumer().memory_mb).heap_mb,
    }


class Storing:
    """A peer that stores records in Delta tables."""

    def __init__(self, process: "subprocess.Popen[str]", setting: Setting) -> None:
        self.begun_s = time.time()
        self._process, self._setting = process, setting
        self._commits = Commits(setting.tables)

    @property
    def process(self) -> int:
        return self._process.pid

    def new_commits(self) -> list[Commit]:
        _check(self._process, self._setting)
        return self._commits.new()

    def steps_s(self) -> Mapping[str, float]:
        return {}

    def stop(self) -> float | None:
        return None


class Counting:
    """A peer that only reads. It prints a line whenever it has read some more."""

    def __init__(self, process: "subprocess.Popen[str]", setting: Setting) -> None:
        self.begun_s = time.time()
        self._process, self._setting = process, setting
        self._read: list[Commit] = []
        self._lock = threading.Lock()
        threading.Thread(target=self._listen, args=(process.stdout,), daemon=True).start()

    @property
    def process(self) -> int:
        return self._process.pid

    def new_commits(self) -> list[Commit]:
        _check(self._process, self._setting)
        with self._lock:
            found, self._read = self._read, []
        return found

    def steps_s(self) -> Mapping[str, float]:
        return {}

    def stop(self) -> float | None:
        return None

    def _listen(self, lines: IO[str]) -> None:
        for line in lines:
            time_s, records = json.loads(line)
            with self._lock:
                self._read.append(Commit("read", time_s, records))


def _check(process: "subprocess.Popen[str]", setting: Setting) -> None:
    if process.poll() is not None:
        said = (setting.directory / "stderr.txt").read_text()[-LAST_LINES:]
        raise RestowError(f"it ended with exit code {process.returncode}: {said.strip()}")
