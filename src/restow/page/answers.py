"""/api/…: what the server knows, as JSON. Nothing here waits for Kafka but /api/at."""

import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from restow.clock import as_iso
from restow.errors import InvalidInput, RestowError
from restow.model import FIRST_CONSUMER, ConsumerId, TopicPartition
from restow.page.board import Board
from restow.page.following import Following
from restow.page.history import FINEST_S, KEPT_S
from restow.page.past import Past
from restow.page.streams import MOST_STREAMS, EventStream, Streams
from restow.page.times import utc_s
from restow.picture.explanation import explain_consumer, explain_partition
from restow.protocol.codec import to_plain
from restow.protocol.json_text import as_json

POINTS: Final = 300
MOST_POINTS: Final = 2_000
STUCK_AFTER_S: Final = 120.0
"""The thread that reads Kafka waits at most 10 s for an answer, several times in a row."""

Endpoint = Callable[[Request], Awaitable[Response]]


def json_answer(text: bytes, status: int = 200) -> Response:
    return Response(text, status, media_type="application/json")


def refusal(words: str, status: int) -> Response:
    return json_answer(as_json({"error": words}), status)


class Answers:
    def __init__(self, board: Board, streams: Streams, past: Past, following: Following) -> None:
        self._board, self._streams, self._past, self._following = board, streams, past, following

    async def picture(self, _: Request) -> Response:
        return json_answer(self._board.picture_text())

    async def events(self, _: Request) -> Response:
        if self._streams.open >= MOST_STREAMS:
            return refusal(f"{MOST_STREAMS} browsers follow this page already; close one", 503)
        return EventStream(self._streams)

    async def history(self, request: Request) -> Response:
        now_s, asked = time.time(), request.query_params
        to_s = min(utc_s(asked["to"]), now_s + FINEST_S) if "to" in asked else now_s
        from_s = max(utc_s(asked["from"]), now_s - 2 * KEPT_S) if "from" in asked else to_s - KEPT_S
        if from_s >= to_s:
            raise InvalidInput(f"from is {as_iso(from_s)}; it must be before to, {as_iso(to_s)}")
        history = self._board.history
        since_s = history.since_s
        return json_answer(
            as_json(
                {
                    "from": as_iso(from_s),
                    "to": as_iso(to_s),
                    "since": None if since_s is None else as_iso(since_s),
                    "is_complete": history.is_complete,
                    **history.series(from_s, to_s, _points(asked.get("points"))),
                }
            )
        )

    async def at(self, request: Request) -> Response:
        if "time" not in request.query_params:
            raise InvalidInput("time is missing; write /api/at?time=2026-03-01T12:00:00Z")
        return json_answer(await self._past.answer(utc_s(request.query_params["time"])))

    async def partition(self, request: Request) -> Response:
        partition = TopicPartition(request.path_params["topic"], request.path_params["number"])
        lists = self._board.history.of_partition(partition)
        picture = None if self._board.newest is None else self._board.newest.picture
        status = None if picture is None else picture.partitions.get(partition)
        lines = () if picture is None else explain_partition(picture, self._board.history.decisions(), partition)
        names = {"speeds": "bytes_per_s", "places": "consumer"}
        return _about(lists, names, status, lines)

    async def consumer(self, request: Request) -> Response:
        consumer = ConsumerId(max(FIRST_CONSUMER, request.path_params["number"]))
        lists = self._board.history.of_consumer(consumer)
        picture = None if self._board.newest is None else self._board.newest.picture
        status = None if picture is None else picture.consumers.get(consumer)
        lines = () if picture is None else explain_consumer(picture, self._board.history.decisions(), consumer)
        names = {"speeds": "load_bytes_per_s", "places": "partitions"}
        return _about(lists, names, status, lines)

    async def alive(self, _: Request) -> Response:
        stuck_s = time.monotonic() - self._following.turned_s
        if stuck_s > STUCK_AFTER_S:
            return refusal(f"the thread that reads Kafka has made no progress for {stuck_s:.0f} s", 503)
        return json_answer(b'{"alive":true}')

    async def ready(self, _: Request) -> Response:
        if not self._board.is_reached:
            return refusal(self._board.why_none, 503)
        return json_answer(b'{"ready":true}')


def _about(lists: dict[str, Any], names: dict[str, str], status: object, lines: Iterable[str]) -> Response:
    """History, present and explanation. A partition or consumer that is gone still has its history."""
    explanation: list[str] = []
    try:
        explanation += lines
    except InvalidInput as error:
        if not lists["times"]:
            return refusal(str(error), 404)
        explanation.append(str(error))
    named = {names.get(name, name): values for name, values in lists.items()}
    return json_answer(
        as_json({**named, "status": None if status is None else to_plain(status), "explanation": explanation})
    )


def _points(text: str | None) -> int:
    if text is None:
        return POINTS
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= MOST_POINTS:
        raise InvalidInput(f"points is '{text:.20}'; it must be a whole number from 1 to {MOST_POINTS:,}")
    return int(text)


async def on_error(_: Request, error: Exception) -> Response:
    """RestowError as JSON: wrong input, or a broker that doesn't answer."""
    assert isinstance(error, RestowError)
    return refusal(str(error), 400 if isinstance(error, InvalidInput) else 503)
