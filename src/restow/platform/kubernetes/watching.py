"""A thread that watches one kind of a group's objects and puts what it sees into a queue. Nothing else is shared.

A watch that ends goes on where it ended; one that has expired starts again from a fresh list; while the API server is
away it is tried after growing pauses, and people are told once.
"""

import logging
import queue
import threading
from collections.abc import Callable
from typing import Final, Generic

from restow.platform.kubernetes.api import Answered, Api, Found, Kind, Trouble
from restow.platform.kubernetes.change_tracker import All, Changed, Kinds, News, Removed
from restow.platform.kubernetes.retry import EXPIRED, SHORTEST_PAUSE_S, pause_s
from restow.platform.kubernetes.status import Seen, uid_of

log = logging.getLogger(__name__)

ROOM: Final = 10_000
"""News that wait to be heard. When there are more, the watch stands still, and the server ends it."""
PUT_AGAIN_AFTER_S: Final = 1.0


class Watcher(Generic[Kind]):
    def __init__(
        self,
        kind: type[Kind],
        name: Kinds,
        seen: Callable[[Kind], Seen | None],
        api: Api,
        labels: str,
        news: "queue.Queue[News]",
    ) -> None:
        self._kind: type[Kind] = kind
        self._name: Kinds = name
        self._seen: Callable[[Kind], Seen | None] = seen
        self._api, self._labels, self._news = api, labels, news
        self._over = threading.Event()
        self._version = ""
        self._tries = 0
        self._complained = False
        self._thread = threading.Thread(target=self._run, name=f"watch {name}", daemon=True)

    def begin(self) -> tuple[Seen, ...]:
        """Starts the thread, and gives what there is at that moment. Raises Trouble."""
        found = self._api.list(self._kind, self._labels)
        self._version = found.version
        self._thread.start()
        return self._all(found)

    def end(self) -> None:
        """It ends when the Api is closed, at the latest."""
        self._over.set()

    def join(self) -> None:
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                if not self._version:
                    found = self._api.list(self._kind, self._labels)
                    self._put(All(self._name, self._all(found)))
                    self._version = found.version
                self._watch()
                self._over.wait(SHORTEST_PAUSE_S)  # one that ends at once each time must not become a storm
            except Trouble as trouble:
                self._recover(trouble)

    def _watch(self) -> None:
        for event in self._api.watch(self._kind, self._labels, self._version):
            if event.item is None:
                self._well()
            elif event.what == "removed":
                self._put(Removed(self._name, uid_of(event.item)))
            elif (seen := self._seen(event.item)) is not None:
                self._put(Changed(self._name, seen))
            self._version = event.version

    def _all(self, found: Found[Kind]) -> tuple[Seen, ...]:
        return tuple(seen for item in found.items if (seen := self._seen(item)) is not None)

    def _recover(self, trouble: Trouble) -> None:
        if isinstance(trouble, Answered) and trouble.code == EXPIRED:
            self._version = ""
        elif not self._complained and not self._over.is_set():
            self._complained = True
            log.warning("%s can't be watched: %s; retrying", self._name, trouble)
        self._over.wait(pause_s(self._tries, trouble))
        self._tries += 1

    def _well(self) -> None:
        if self._complained:
            log.info("%s are watched again", self._name)
        self._tries, self._complained = 0, False

    def _put(self, news: News) -> None:
        while not self._over.is_set():
            try:
                self._news.put(news, timeout=PUT_AGAIN_AFTER_S)
            except queue.Full:
                continue
            return
