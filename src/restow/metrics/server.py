"""The HTTP thread of a process: `/metrics`, `/healthz` and `/readyz`. It reads frozen values and never waits for the
loop, nor the loop for it.

A port that can't be bound is logged once and retried: the role works without it. Requests are bounded in number, in
time and in size, so that a slow or hostile client costs a few threads at most.
"""

import logging
import socket
import socketserver
import sys
import threading
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from types import TracebackType
from typing import Any, Final, Self
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from prometheus_client import make_wsgi_app

from restow.backoff import Backoff, News
from restow.health import Health
from restow.loopback import is_loopback, names_loopback
from restow.metrics.board import Board
from restow.metrics.collector import registry_of

log = logging.getLogger(__name__)

MOST_REQUESTS: Final = 16
"""At the same time. Prometheus and the kubelet send one each; further ones are closed without an answer."""
READ_WITHIN_S: Final = 5.0
"""Of a request's next line, and of its answer's next part."""
RETRY: Final = Backoff(first_s=1.0, longest_s=30.0)
BINDING: Final = "binding"
INDEX: Final = "/metrics   for Prometheus\n/healthz   whether the loop turns\n/readyz    whether it does its work\n"

Answer = tuple[str, str]
WRONG_HOST: Final[Answer] = ("421 Misdirected Request", "ask for it by a name of this machine, like 127.0.0.1\n")


def application(board: Board, health: Health, alive_within_s: float, host: str) -> WSGIApplication:
    """`host` is the address that the server listens on. On loopback, only loopback names are answered."""
    metrics, is_local = make_wsgi_app(registry_of(board, health)), is_loopback(host)

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        is_meant = not is_local or names_loopback(environ.get("HTTP_HOST", ""))
        if path == "/metrics" and is_meant:
            return metrics(environ, start_response)  # type: ignore[no-any-return]  # it has no types
        status, text = _answer(path, health, alive_within_s) if is_meant else WRONG_HOST
        body = text.encode()
        start_response(status, [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))])
        return [body]

    return answer


def _answer(path: str, health: Health, alive_within_s: float) -> Answer:
    pulse = health.pulse
    match path:
        case "/healthz" if pulse.age_s < alive_within_s:
            return "200 OK", f"alive: the loop turned {pulse.age_s:.1f} s ago\n"
        case "/healthz":
            return "503 Service Unavailable", f"the main loop has made no progress for {pulse.age_s:.0f} s\n"
        case "/readyz" if pulse.is_ready:
            return "200 OK", "ready\n"
        case "/readyz":
            return "503 Service Unavailable", "not ready: it is starting or ending\n"
        case "/":
            return "200 OK", INDEX
        case _:
            return "404 Not Found", INDEX


class MetricsServer:
    """Serves from `with` on until its end. `on_bound` gets the port, in the server's thread."""

    def __init__(
        self, host: str, port: int, application: WSGIApplication, on_bound: Callable[[int], None] = lambda _: None
    ) -> None:
        self._host, self._port, self._application, self._on_bound = host, port, application, on_bound
        self._news = News()
        self._is_ending = threading.Event()
        self._server: _Server | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_ending.set()
        with self._lock:
            server = self._server
        if server is not None:
            server.shutdown()
        self._thread.join(READ_WITHIN_S)

    def _run(self) -> None:
        failures = 0
        while not self._is_ending.is_set():
            server = self._bound()
            if server is None:
                failures += 1
                self._is_ending.wait(RETRY.pause_s(failures))
                continue
            with server:
                self._on_bound(server.server_port)
                with self._lock:
                    self._server = None if self._is_ending.is_set() else server
                if self._server is not None:
                    server.serve_forever(poll_interval=0.1)
            return

    def _bound(self) -> "_Server | None":
        try:
            server = _Server(self._host, self._port, self._application)
        except OSError as error:
            if self._news.is_new(BINDING, str(error)):
                log.warning(
                    "no metrics and no probes at %s, port %d: %s; retrying, and the work goes on ([metrics] has both)",
                    self._host,
                    self._port,
                    error.strerror or error,
                )
            return None
        if self._news.is_over(BINDING):
            log.info("metrics are served at %s, port %d", self._host, server.server_port)
        return server


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, host: str, port: int, application: WSGIApplication) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._free = threading.BoundedSemaphore(MOST_REQUESTS)
        super().__init__((host, port), _Handler)
        self.set_app(application)

    def server_bind(self) -> None:
        """Without the DNS lookup of http.server, which may take seconds."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        log.debug("a request from %s failed: %r", client_address, sys.exc_info()[1])


class _Handler(WSGIRequestHandler):
    timeout = READ_WITHIN_S

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        log.debug(format, *args)
