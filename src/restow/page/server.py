"""Serves the page: binds the socket, runs the event loop in a thread, and ends it cleanly.

The main thread waits for signals; a second one runs the event loop, a third one reads Kafka.
"""

import errno
import logging
import socket
import threading
from collections.abc import Callable
from typing import Final

import uvicorn

from restow.errors import InvalidInput, RestowError
from restow.health import Health
from restow.metrics.board import Board
from restow.page.app import Page

log = logging.getLogger(__name__)

MOST_CONNECTIONS: Final = 256
END_WITHIN_S: Final = 3
LOOK_EVERY_S: Final = 0.5
LARGEST_HEAD_BYTES: Final = 32 << 10


def bound(host: str, port: int, *, or_free: bool = False) -> socket.socket:
    """A socket that listens there; with `or_free`, on another port if this one is in use. Raises InvalidInput with what
    would be right."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(address)
            listening.listen(128)
        except OSError:
            listening.close()
            raise
    except socket.gaierror:
        raise InvalidInput(f"[page] host is '{host}', which is no address of this machine") from None
    except OSError as error:
        if or_free and error.errno == errno.EADDRINUSE:
            log.info("port %d of %s is in use; taking a free one", port, host)
            return bound(host, 0)
        raise InvalidInput(_why_not(host, port, error)) from None
    return listening


def _why_not(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} of {host} is in use, perhaps by the page of another group; choose another one with "
            "[page] port or --port, or any free one with --free-port"
        )
    if error.errno == errno.EACCES:
        return f"port {port} needs root; choose one above 1023 with [page] port or --port"
    return f"can't listen on {host}, port {port}: {error.strerror}; check host and port in [page]"


def address_of(listening: socket.socket) -> str:
    """http://127.0.0.1:8642/; for a server on every address, the machine's name."""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = socket.gethostname()
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def serve(
    page: Page, listening: socket.socket, should_stop: Callable[[float], bool], health: Health, board: Board
) -> None:
    """Serves until `should_stop`. Raises RestowError if the server ends by itself."""
    config = uvicorn.Config(
        page.app,
        http="h11",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=END_WITHIN_S,
        h11_max_incomplete_event_size=LARGEST_HEAD_BYTES,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="page", daemon=True)
    thread.start()
    while not should_stop(LOOK_EVERY_S):
        if not thread.is_alive():
            raise RestowError("the page's server ended by itself; its log says why")
        if page.is_turning:
            health.alive()
        if page.board.is_reached and not health.pulse.is_ready:
            health.ready()
        if board.is_due():
            board.publish(page.now().samples)
    health.ending()
    page.streams.is_ending = True
    server.should_exit = True
    thread.join()
