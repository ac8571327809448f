"""/api/events: the picture as server-sent events.

A stream has no queue: when it may send again, it sends what is newest then. A browser that takes nothing for a while is
dropped, and connects again.
"""

import asyncio
import time
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from restow.page.board import Board

AT_MOST_EVERY_S: Final = 1.0
HEARTBEAT_S: Final = 10.0
SENT_WITHIN_S: Final = 30.0
MOST_STREAMS: Final = 64

HEARTBEAT: Final = b": still here\n\n"


class Streams:
    """Limits the number of open streams."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.open = 0
        self.is_ending = False

    def end(self) -> None:
        self.is_ending = True
        self.board.wake()


class EventStream(Response):
    media_type = "text/event-stream"

    def __init__(self, streams: Streams) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._streams, self._board = streams, streams.board
        self._sent: int | None = None
        """The number of the newest picture that the browser has."""
        self._said: str | None = None
        """What it knows instead: why there is no picture, or no new one."""
        self._beat_s = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  as ASGI calls it
        self._streams.open += 1
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            feeding = asyncio.create_task(self._feed(send))
            gone = asyncio.create_task(_disconnected(receive))
            _, pending = await asyncio.wait({feeding, gone}, return_when=asyncio.FIRST_COMPLETED)
            for task in pending:
                task.cancel()
            await asyncio.gather(feeding, gone, return_exceptions=True)
        finally:
            self._streams.open -= 1

    async def _feed(self, send: Send) -> None:
        while not self._streams.is_ending:
            due = self._due()
            if due:
                message = {"type": "http.response.body", "body": due, "more_body": True}
                await asyncio.wait_for(send(message), SENT_WITHIN_S)  # TimeoutError drops the browser
                self._beat_s = time.monotonic()
                await asyncio.sleep(AT_MOST_EVERY_S)
            else:
                await self._board.news(AT_MOST_EVERY_S)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _due(self) -> bytes:
        """The events to send now; empty if there are none."""
        newest, board = self._board.newest, self._board
        if newest is None:
            return self._news(board.why_none, b"picture", board.picture_text())
        events, outage = b"", board.outage
        if newest.number != self._sent or (self._said is not None and outage is None):
            events, self._said = self._picture(), None
        if outage is not None:
            is_due = self._said is None or time.monotonic() - self._beat_s >= HEARTBEAT_S
            self._said = outage
            return events + (event(b"outage", board.outage_text(outage)) if is_due else b"")
        return events or self._heartbeat()

    def _picture(self) -> bytes:
        newest = self._board.newest
        assert newest is not None
        change = self._board.change_text()
        is_over_what_it_has = self._sent is not None and self._sent >= newest.base and self._said is None
        self._sent = newest.number
        if change is not None and is_over_what_it_has:
            return event(b"change", change)
        return event(b"picture", self._board.picture_text())

    def _news(self, words: str, name: bytes, text: bytes) -> bytes:
        if words != self._said:
            self._said = words
            return event(name, text)
        return self._heartbeat()

    def _heartbeat(self) -> bytes:
        return HEARTBEAT if time.monotonic() - self._beat_s >= HEARTBEAT_S else b""


def event(name: bytes, text: bytes) -> bytes:
    """JSON on one line has no line break that would end the event."""
    return b"event: %s\ndata: %s\n\n" % (name, text)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
