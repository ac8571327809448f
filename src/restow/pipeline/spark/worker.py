"""The thread that makes all calls to Spark. The caller's thread waits for it and polls for commands.

A PySpark call blocks until the JVM answers, so that the consumer's loop could hear no command during a cycle if it made
the call itself. Work is handed over as a whole and its result comes back as a whole: the threads share nothing.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, TypeVar

from restow.consumer.pipeline import ShouldEnd

T = TypeVar("T")

SLICE_S: Final = 0.05


class Worker:
    def __init__(self) -> None:
        self._queue: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        self._last: Future[Any] | None = None
        # A daemon thread, so that a call that hangs in Spark doesn't keep the process from exiting.
        Thread(target=self._work, name="spark", daemon=True).start()

    @property
    def is_busy(self) -> bool:
        return self._last is not None and not self._last.done()

    def run(self, work: Callable[[], T]) -> T:
        return self._submit(work).result()

    def run_until(self, work: Callable[[], T], should_end: ShouldEnd) -> T | None:
        """Returns None if `should_end` came first; the work continues."""
        running = self._submit(work)
        while not wait([running], SLICE_S).done:
            if should_end():
                return None
        return running.result()

    def run_patiently(
        self, work: Callable[[], T], should_end: ShouldEnd, patience_s: float, cancel: Callable[[], None]
    ) -> T:
        """Calls `cancel` once `should_end` has been true for longer than `patience_s`, again and again until the work
        ends; a cancelled work raises."""
        running = self._submit(work)
        impatient_since_s: float | None = None
        while not wait([running], SLICE_S).done:
            if not should_end():
                impatient_since_s = None
            elif impatient_since_s is None:
                impatient_since_s = time.monotonic()
            elif time.monotonic() - impatient_since_s > patience_s:
                cancel()
        return running.result()

    def close(self) -> None:
        self._queue.put(None)

    def _submit(self, work: Callable[[], T]) -> "Future[T]":
        running: Future[T] = Future()
        self._last = running
        self._queue.put((work, running))
        return running

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            work, running = item
            try:
                running.set_result(work())
            except BaseException as error:  # noqa: BLE001  raised again in the thread that waits for the result
                running.set_exception(error)
