"""The one thread that Spark is used in. The process's own thread keeps all state, waits, and listens meanwhile.

Python hands a call to Spark over a socket and waits for the answer; nobody could listen for commands during a cycle if
the loop did that itself. What is done here is handed over whole, and its outcome comes back whole: nothing is shared
while it runs.
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
        # A daemon: what hangs in Spark does not keep a process from ending.
        Thread(target=self._work, name="spark", daemon=True).start()

    @property
    def is_busy(self) -> bool:
        return self._last is not None and not self._last.done()

    def do(self, work: Callable[[], T]) -> T:
        return self._begin(work).result()

    def do_until(self, work: Callable[[], T], is_enough: ShouldEnd) -> T | None:
        """Nothing: it goes on, and nobody waits for it any more."""
        under_way = self._begin(work)
        while not wait([under_way], SLICE_S).done:
            if is_enough():
                return None
        return under_way.result()

    def do_while(self, work: Callable[[], T], should_end: ShouldEnd, patience_s: float, drop: Callable[[], None]) -> T:
        """When somebody has waited longer than our patience for the end, it is dropped, and fails soon after."""
        under_way = self._begin(work)
        impatient_since_s: float | None = None
        while not wait([under_way], SLICE_S).done:
            if not should_end():
                impatient_since_s = None
            elif impatient_since_s is None:
                impatient_since_s = time.monotonic()
            elif time.monotonic() - impatient_since_s > patience_s:
                drop()
        return under_way.result()

    def close(self) -> None:
        self._queue.put(None)

    def _begin(self, work: Callable[[], T]) -> "Future[T]":
        under_way: Future[T] = Future()
        self._last = under_way
        self._queue.put((work, under_way))
        return under_way

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            work, under_way = item
            try:
                under_way.set_result(work())
            except BaseException as error:  # noqa: BLE001  it is raised where the outcome is waited for
                under_way.set_exception(error)
