"""A thread that watches one kind of a group's objects and queues what it sees. The queue is all that it shares.

A watch that ends is reopened where it ended; an expired watch starts again from a fresh list; while the API server
doesn't answer, the watch is retried with backoff, which is logged once.
"""

import logging
import queue
import threading
from collections.abc import Callable
from typing import Final, Generic

from restow.platform.kubernetes.api import Api, ApiError, Found, Kind, Rejected
from restow.platform.kubernetes.change_tracker import Changed, Kinds, Observation, Removed, Snapshot
from restow.platform.kubernetes.retry import EXPIRED, pause_s
from restow.platform.kubernetes.status import ObjectStatus, uid_of

log = logging.getLogger(__name__)

QUEUE_SIZE: Final = 10_000
"""When the queue is full the watch stops reading, and the server closes it."""
PUT_AGAIN_AFTER_S: Final = 1.0
REOPEN_AFTER_S: Final = 0.1
"""Keeps a watch that ends at once, each time, from flooding the server."""


class Watcher(Generic[Kind]):
    def __init__(
        self,
        kind: type[Kind],
        name: Kinds,
        status_of: Callable[[Kind], ObjectStatus | None],
        api: Api,
        labels: str,
        observations: "queue.Queue[Observation]",
    ) -> None:
        self._kind: type[Kind] = kind
        self._name: Kinds = name
        self._status_of: Callable[[Kind], ObjectStatus | None] = status_of
        self._api, self._labels, self._observations = api, labels, observations
        self._closing = threading.Event()
        self._version = ""
        self._failures = 0
        self._is_logged = False
        self._thread = threading.Thread(target=self._run, name=f"watch {name}", daemon=True)

    def start(self) -> tuple[ObjectStatus, ...]:
        """Lists the objects, starts the thread, and returns their statuses. Raises ApiError."""
        found = self._api.list(self._kind, self._labels)
        self._version = found.version
        self._thread.start()
        return self._statuses(found)

    def end(self) -> None:
        """Asks the thread to end; it does at the latest when the Api is closed."""
        self._closing.set()

    def join(self) -> None:
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                if not self._version:
                    found = self._api.list(self._kind, self._labels)
                    self._put(Snapshot(self._name, self._statuses(found)))
                    self._version = found.version
                self._watch()
                self._closing.wait(REOPEN_AFTER_S)
            except ApiError as error:
                self._recover(error)

    def _watch(self) -> None:
        for event in self._api.watch(self._kind, self._labels, self._version):
            if event.item is None:
                self._succeeded()
            elif event.what == "removed":
                self._put(Removed(self._name, uid_of(event.item)))
            elif (status := self._status_of(event.item)) is not None:
                self._put(Changed(self._name, status))
            self._version = event.version

    def _statuses(self, found: Found[Kind]) -> tuple[ObjectStatus, ...]:
        return tuple(status for item in found.items if (status := self._status_of(item)) is not None)

    def _recover(self, error: ApiError) -> None:
        if isinstance(error, Rejected) and error.code == EXPIRED:
            self._version = ""
        elif not self._is_logged and not self._closing.is_set():
            self._is_logged = True
            log.warning("%s can't be watched: %s; retrying", self._name, error)
        self._failures += 1
        self._closing.wait(pause_s(self._failures, error))

    def _succeeded(self) -> None:
        if self._is_logged:
            log.info("%s are watched again", self._name)
        self._failures, self._is_logged = 0, False

    def _put(self, observation: Observation) -> None:
        while not self._closing.is_set():
            try:
                self._observations.put(observation, timeout=PUT_AGAIN_AFTER_S)
            except queue.Full:
                continue
            return
