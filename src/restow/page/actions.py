"""/api/actions/…: pause, resume and recommend, written to the service topic as desired state. The answer is the
controller's, from the picture.
"""

import asyncio
import json
import logging
import math
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from restow.clock import as_iso
from restow.errors import InvalidInput
from restow.kafka.channels.services import write_service
from restow.page.answers import json_answer, refusal
from restow.page.board import Board
from restow.page.times import utc_s
from restow.picture.answers import ANSWER_WITHIN_S, NO_ANSWER, NO_CONTROLLER, Outcome, answer_to
from restow.protocol.json_text import as_json
from restow.protocol.messages.desired import GroupPause, RecommendOnly
from restow.settings import Settings

log = logging.getLogger(__name__)

MOST_BYTES: Final = 10_000
LONGEST_PAUSE_S: Final = 366 * 86_400.0

Body = Mapping[str, Any]
Wanted = GroupPause | RecommendOnly


class Actions:
    def __init__(self, settings: Settings, board: Board) -> None:
        self._settings, self._board = settings, board
        self._by = f"page@{socket.gethostname()}"
        self._one_at_a_time = asyncio.Lock()

    async def act(self, request: Request) -> Response:
        read = ACTIONS.get(request.path_params["action"])
        if read is None:
            return refusal(f"there is no such action; known are {', '.join(ACTIONS)}", 404)
        wanted = read(await body_of(request), self._by, time.time())
        async with self._one_at_a_time:
            offset = await asyncio.to_thread(write_service, self._settings, wanted, self._by, ANSWER_WITHIN_S)
            log.info("asked for %s", wanted)
            found = await self._outcome(offset)
        return json_answer(as_json({"taken": found.taken, "words": found.words}))

    async def _outcome(self, offset: int) -> Outcome:
        deadline_s = time.monotonic() + ANSWER_WITHIN_S
        while (left_s := deadline_s - time.monotonic()) > 0:
            newest = self._board.newest
            if newest is None or self._board.outage is not None:
                return NO_CONTROLLER
            found = answer_to(newest.picture.overview, offset)
            if found is not None:
                return found
            await self._board.news(left_s)
        return NO_ANSWER


def _pause(body: Body, by: str, now_s: float) -> Wanted:
    _known(body, "for_s", "until", "reason")
    for_s, until = body.get("for_s"), body.get("until")
    if for_s is not None and until is not None:
        raise InvalidInput("for_s and until are both given; give one of them, or none to pause until it is resumed")
    if for_s is not None:
        until = as_iso(now_s + _seconds(for_s))
    elif until is not None:
        until = _later(until, now_s)
    return GroupPause(True, until, by, as_iso(now_s), _reason(body))


def _resume(body: Body, by: str, now_s: float) -> Wanted:
    _known(body, "reason")
    return GroupPause(False, None, by, as_iso(now_s), _reason(body))


def _recommend(body: Body, by: str, now_s: float) -> Wanted:
    _known(body, "on", "reason")
    if not isinstance(body.get("on"), bool):
        raise InvalidInput(f"on is {body.get('on')!r:.40}; it must be true or false")
    return RecommendOnly(body["on"], by, as_iso(now_s), _reason(body))


ACTIONS: Final[Mapping[str, Callable[[Body, str, float], Wanted]]] = {
    "pause": _pause,
    "resume": _resume,
    "recommend": _recommend,
}


async def body_of(request: Request) -> Body:
    """Raises InvalidInput if it is no JSON object, or too long."""
    content = b""
    async for piece in request.stream():
        content += piece
        if len(content) > MOST_BYTES:
            raise InvalidInput(f"the request has more than {MOST_BYTES:,} bytes")
    try:
        body = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        raise InvalidInput("the request is not JSON") from None
    if not isinstance(body, dict):
        raise InvalidInput("the request must be a JSON object")
    return body


def _known(body: Body, *names: str) -> None:
    unknown = sorted(body.keys() - set(names))
    if unknown:
        raise InvalidInput(f"'{unknown[0]:.40}' is unknown; known are {', '.join(names)}")


def _reason(body: Body) -> str:
    reason = body.get("reason", "")
    if not isinstance(reason, str):
        raise InvalidInput("reason must be text")
    return reason.strip()


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LONGEST_PAUSE_S:
        raise InvalidInput(f"for_s is {value!r:.40}; it must be a number of seconds above 0, a year at most")
    return math.ceil(value)


def _later(value: object, now_s: float) -> str:
    until_s = utc_s(value) if isinstance(value, str) else 0.0
    if not now_s < until_s <= now_s + LONGEST_PAUSE_S:
        raise InvalidInput(f"until is {value!r:.40}; it must be a time in the future, a year ahead at most")
    return as_iso(until_s)
