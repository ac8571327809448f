"""The page's routes, wired to what answers them. The event loop owns everything here."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from restow.errors import RestowError
from restow.metrics.page import PageNow
from restow.page.actions import Actions
from restow.page.answers import STUCK_AFTER_S, Answers, on_error, refusal
from restow.page.assets import INDEX, read_assets, served
from restow.page.board import Board
from restow.page.following import Following, Heard
from restow.page.guard import Guard
from restow.page.past import Past
from restow.page.streams import Streams
from restow.settings import Settings


class Page:
    """The application of one group."""

    def __init__(self, settings: Settings, token: str, host: str) -> None:
        self.board = Board(settings.group.name, settings.topics.status)
        self.streams = Streams(self.board)
        self._past = Past(settings)
        self._loop: asyncio.AbstractEventLoop | None = None
        self.following = Following(settings, self._post)
        self._answers = Answers(self.board, self.streams, self._past, self.following)
        self._actions = Actions(settings, self.board)
        self._assets = read_assets()
        self.app: ASGIApp = Guard(self._starlette(), token, host)

    @property
    def is_turning(self) -> bool:
        """Whether the thread that reads Kafka still turns."""
        return time.monotonic() - self.following.turned_s < STUCK_AFTER_S

    def now(self) -> PageNow:
        drawn_s = None if self.board.newest is None else time.monotonic() - self.board.age_s
        return PageNow(self.streams.open, drawn_s)

    def _post(self, heard: Heard) -> None:
        """Called by the thread that reads Kafka."""
        assert self._loop is not None
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.board.take, heard)

    @asynccontextmanager
    async def _running(self, _: Starlette) -> AsyncIterator[None]:
        self._loop = asyncio.get_running_loop()
        self.following.start()
        yield
        await asyncio.to_thread(self.following.stop)
        await asyncio.to_thread(self._past.close)

    def _starlette(self) -> Starlette:
        answers = self._answers
        routes = [
            Route("/", self._index),
            Route("/static/{name:path}", self._static),
            Route("/api/picture", answers.picture),
            Route("/api/events", answers.events),
            Route("/api/history", answers.history),
            Route("/api/at", answers.at),
            Route("/api/partition/{topic}/{number:int}", answers.partition),
            Route("/api/consumer/{number:int}", answers.consumer),
            Route("/api/actions/{action}", self._actions.act, methods=["POST"]),
            Route("/healthz", answers.alive),
            Route("/readyz", answers.ready),
        ]
        handlers = {RestowError: on_error, 404: _unknown, 405: _wrong_method}
        return Starlette(routes=routes, exception_handlers=handlers, lifespan=self._running)

    async def _index(self, request: Request) -> Response:
        return served(self._assets, INDEX, request)

    async def _static(self, request: Request) -> Response:
        return served(self._assets, request.path_params["name"], request)


async def _unknown(_: Request, __: Exception) -> Response:
    return refusal("there is nothing here", 404)


async def _wrong_method(request: Request, _: Exception) -> Response:
    return refusal(f"{request.method} can't be used here", 405)
