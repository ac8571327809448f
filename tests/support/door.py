"""A proxy in front of a real server, the `Door`, that counts requests and injects faults.

It passes on every request and every answer. A `Fault` throttles, breaks off or holds up the requests that it matches,
or loses their answers. kubernetes/faults.py has the door of the API server, s3/store.py that of the object store.
"""

import http.client
import http.server
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

HOP_BY_HOP = ("connection", "content-length", "keep-alive", "transfer-encoding")


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: str


@dataclass(slots=True)
class Fault:
    matches: Callable[[Any], bool]
    """Of a Request, or of what a door makes of it."""
    times: int = 1
    code: int | None = None
    """The answer's code, in place of the server's."""
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes = b"the door is shut"
    before: Callable[[], object] = lambda: None
    """Called before the request is passed on."""
    passed_on: bool = False
    """The server carries the request out all the same, but its answer is lost."""
    is_cut: bool = False
    """The connection breaks off without an answer."""


class Door:
    """One for each test. `faults` may be added to at any time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.faults: list[Any] = []
        self.passed: list[Any] = []

    def connect(self) -> http.client.HTTPConnection:
        """To the server."""
        raise NotImplementedError

    def request(self, method: str, path: str, query: str) -> Any:
        return Request(method, path, query)

    def enter(self, request: Any) -> Any:
        """Returns the fault that befalls the request, or None."""
        with self._lock:
            self.passed.append(request)
            for fault in self.faults:
                if fault.times > 0 and fault.matches(request):
                    fault.times -= 1
                    return fault
        return None

    def leave(self, request: Any) -> None:
        pass

    def close(self) -> None:
        pass


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    door: Any

    def handle_one_request(self) -> None:
        """Where the server doesn't answer, the connection breaks off."""
        try:
            super().handle_one_request()
        except (OSError, http.client.HTTPException):
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  as its base calls it
        pass

    def _pass(self) -> None:
        split = urlsplit(self.path)
        request = self.door.request(self.command, split.path, split.query)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.door.enter(request)
        try:
            if fault is None or not self.suffers(request, body, fault):
                with self.asked(request, body) as answer:
                    self.respond(request, answer, fault)
        finally:
            self.door.leave(request)

    def suffers(self, request: Any, body: bytes, fault: Any) -> bool:
        """Returns whether the fault was the answer."""
        fault.before()
        if fault.passed_on:
            with self.asked(request, body) as answer:
                answer.read()
        if fault.is_cut:
            self.close_connection = True
            return True
        if fault.code is not None:
            self.answer(fault.code, fault.content, fault.headers)
            return True
        return False

    def passed_on(self) -> dict[str, str]:
        """The headers of the request that the server gets."""
        return {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}

    def respond(self, request: Any, answer: http.client.HTTPResponse, fault: Any) -> None:  # noqa: ARG002  see below
        """`fault` is for doors whose faults change an answer."""
        headers = {name: value for name, value in answer.headers.items() if name.lower() not in HOP_BY_HOP}
        length = answer.headers.get("Content-Length", "0") if request.method == "HEAD" else None
        self.answer(answer.status, answer.read(), headers, length)

    @contextmanager
    def asked(self, request: Any, body: bytes) -> Iterator[http.client.HTTPResponse]:
        with closing(self.door.connect()) as server:
            server.request(request.method, self.path, body=body or None, headers=self.passed_on())
            with server.getresponse() as answer:
                yield answer

    def answer(self, code: int, content: bytes, headers: dict[str, str], length: str | None = None) -> None:
        """`length` differs from the content's for a HEAD."""
        self.send_response_only(code)
        for name, value in {**headers, "Content-Length": length or str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _pass  # noqa: N815  as its base calls them


@contextmanager
def served(door: Door, handler: type[Handler]) -> Iterator[int]:
    """The port on which the door is."""
    own = type("DoorHandler", (handler,), {"door": door})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), own) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server.server_port
        finally:
            door.close()
            server.shutdown()
            thread.join()
