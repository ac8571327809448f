"""A proxy in front of the tests' API server, the `Door`, that counts requests and injects faults.

It passes on every request and every answer, and streams watches. A `Fault` throttles, expires, breaks off or holds up
the requests that it matches.
"""

import http.client
import http.server
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from tests.support.kubernetes.cluster.control_plane import ControlPlane

PASSED_ON = ("authorization", "content-type", "accept", "user-agent")


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: str

    @property
    def is_watch(self) -> bool:
        return "watch=true" in self.query

    @property
    def resource(self) -> str:
        return self.path.split("/namespaces/")[-1].split("/")[1]

    def does(self, verb: str, resource: str) -> bool:
        """`verb` is an HTTP method, or WATCH."""
        return (("WATCH" if self.is_watch else self.method), self.resource) == (verb, resource)


@dataclass(slots=True)
class Fault:
    matches: Callable[[Request], bool]
    times: int = 1
    code: int | None = None
    """The answer's code, in place of the server's."""
    headers: dict[str, str] = field(default_factory=dict)
    before: Callable[[], object] = lambda: None
    """Called before the request is passed on."""
    passed_on: bool = False
    """The server carries the request out all the same, but its answer is lost."""
    silent: bool = False
    """A watch that sends nothing and does not end."""
    line: bytes = b""
    """What a watch sends before anything from the server."""


class Door:
    def __init__(self, control_plane: ControlPlane, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        """With the address of this door."""
        self._server = urlsplit(control_plane.place.api)
        self._context = ssl.create_default_context(cafile=str(control_plane.place.authority.root.certificate))
        self._lock = threading.Lock()
        self._streams: list[socket.socket] = []
        self._closing = threading.Event()
        self.faults: list[Fault] = []
        self.passed: list[Request] = []
        self.at_once = self.most_at_once = 0

    def write_kubeconfig(self, original: Path, port: int) -> None:
        config = msgspec.yaml.decode(original.read_bytes())
        config["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{port}"}
        self.kubeconfig.write_bytes(msgspec.yaml.encode(config))

    def connect(self) -> http.client.HTTPSConnection:
        host, port = self._server.hostname, self._server.port
        assert host is not None
        return http.client.HTTPSConnection(host, port, timeout=30, context=self._context)

    def count(self, verb: str, resource: str) -> int:
        with self._lock:
            return sum(each.does(verb, resource) for each in self.passed)

    def cut_watches(self) -> None:
        with self._lock:
            streams, self._streams = self._streams, []
        for stream in streams:
            with suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._closing.set()
        self.cut_watches()

    def enter(self, request: Request) -> Fault | None:
        with self._lock:
            self.passed.append(request)
            if not request.is_watch:
                self.at_once += 1
                self.most_at_once = max(self.most_at_once, self.at_once)
            for fault in self.faults:
                if fault.times > 0 and fault.matches(request):
                    fault.times -= 1
                    return fault
        return None

    def leave(self, request: Request) -> None:
        with self._lock:
            if not request.is_watch:
                self.at_once -= 1

    def hold(self, stream: socket.socket) -> None:
        with self._lock:
            self._streams.append(stream)

    def wait_for_closing(self) -> None:
        self._closing.wait()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    door: Door

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
        request = Request(self.command, split.path, split.query)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.door.enter(request)
        try:
            self._treat(request, body, fault)
        finally:
            self.door.leave(request)

    def _treat(self, request: Request, body: bytes, fault: Fault | None) -> None:
        if fault is not None:
            fault.before()
            if fault.silent:
                self._begin_stream(200)
                self.door.hold(self.connection)
                self.door.wait_for_closing()
                return
            if fault.passed_on:
                with self._asked(request, body) as answer:
                    answer.read()
            if fault.code is not None:
                self._answer(fault.code, b"the door is shut", fault.headers)
                return
        with self._asked(request, body) as answer:
            if request.is_watch and answer.status == 200:
                self._flow(answer, fault.line if fault else b"")
            else:
                kind = answer.headers.get("Content-Type", "")
                self._answer(answer.status, answer.read(), {"Content-Type": kind})

    def _flow(self, answer: http.client.HTTPResponse, first: bytes) -> None:
        self._begin_stream(answer.status)
        self.door.hold(self.connection)
        line = first or answer.readline()
        while line:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            line = answer.readline()
        self.wfile.write(b"0\r\n\r\n")

    @contextmanager
    def _asked(self, request: Request, body: bytes) -> Iterator[http.client.HTTPResponse]:
        headers = {name: value for name, value in self.headers.items() if name.lower() in PASSED_ON}
        with closing(self.door.connect()) as server:
            server.request(request.method, self.path, body=body or None, headers=headers)
            with server.getresponse() as answer:
                yield answer

    def _answer(self, code: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(code)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _begin_stream(self, code: int) -> None:
        self.send_response(code)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    do_GET = do_POST = do_PUT = do_DELETE = _pass  # noqa: N815  as its base calls them


@contextmanager
def opened(control_plane: ControlPlane, directory: Path) -> Iterator[Door]:
    door = Door(control_plane, directory / "door.kubeconfig")
    handler = type("DoorHandler", (Handler,), {"door": door})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            door.write_kubeconfig(control_plane.kubeconfig, server.server_port)
            yield door
        finally:
            door.close()
            server.shutdown()
            thread.join()
