"""The threads that make all calls to Spark. The caller's thread waits for them and polls for commands.

A PySpark call blocks until the JVM answers, so that the consumer's loop could hear no command during a cycle if it made
the call itself. Work is handed over as a whole and its result comes back as a whole: the threads share nothing.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, TypeVar

from restow.consumer.pipeline import ShouldEnd

T = TypeVar("T")

Patience = Callable[[float], float]
"""How many more seconds work may take once it should end, given the seconds since it began."""

SLICE_S: Final = 0.05


def no_patience(elapsed_s: float) -> float:  # noqa: ARG001  a Patience
    return 0.0


class Worker:
    def __init__(self, threads: int = 1) -> None:
        self._queue: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        self._running: list[Future[Any]] = []
        self._threads = threads
        for number in range(threads):
            # A daemon thread, so that a call that hangs in Spark doesn't keep the process from exiting.
            Thread(target=self._work, name=f"spark-{number}" if number else "spark", daemon=True).start()

    @property
    def is_busy(self) -> bool:
        return any(not running.done() for running in self._running)

    def run(self, work: Callable[[], T]) -> T:
        return self.submit(work).result()

    def run_until(self, work: Callable[[], T], should_end: ShouldEnd) -> T | None:
        """Returns None if `should_end` came first; the work continues."""
        return self.wait_for(self.submit(work), should_end)

    def wait_for(self, running: "Future[T]", should_end: ShouldEnd) -> T | None:
        """The result of submitted work; None if `should_end` came first."""
        while not wait([running], SLICE_S).done:
            if should_end():
                return None
        return running.result()

    def run_patiently(
        self, work: Callable[[], T], should_end: ShouldEnd, patience: Patience, cancel: Callable[[], None]
    ) -> T:
        """Raises what the work raises."""
        [running] = self.run_all_patiently([work], should_end, patience, cancel)
        return running.result()

    def run_all_patiently(
        self, works: Sequence[Callable[[], T]], should_end: ShouldEnd, patience: Patience, cancel: Callable[[], None]
    ) -> "list[Future[T]]":
        """Runs them side by side, as many as there are threads, and returns when all have ended. Calls `cancel` once
        `should_end` has been true for longer than `patience` allows, again and again until they end; a cancelled work
        raises."""
        running, begun_s = [self.submit(work) for work in works], time.monotonic()
        deadline_s: float | None = None
        while wait(running, SLICE_S).not_done:
            now_s = time.monotonic()
            if not should_end():
                deadline_s = None
            elif deadline_s is None:
                deadline_s = now_s + patience(now_s - begun_s)
            if deadline_s is not None and now_s >= deadline_s:
                cancel()
        return running

    def close(self) -> None:
        for _ in range(self._threads):
            self._queue.put(None)

    def submit(self, work: Callable[[], T]) -> "Future[T]":
        """Runs it in the background."""
        running: Future[T] = Future()
        self._running = [each for each in self._running if not each.done()] + [running]
        self._queue.put((work, running))
        return running

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            work, running = item
            try:
                running.set_result(work())
            except BaseException as error:  # noqa: BLE001  raised again in the thread that waits for the result
                running.set_exception(error)
