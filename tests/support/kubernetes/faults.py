"""The door in front of the tests' API server (tests/support/door.py). It streams watches, and counts requests by verb
and resource.

A `Fault` throttles, expires, breaks off or holds up the requests that it matches.
"""

import http.client
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from tests.support import door
from tests.support.kubernetes.cluster.control_plane import ControlPlane

PASSED_ON = ("authorization", "content-type", "accept", "user-agent")


@dataclass(frozen=True, slots=True)
class Request(door.Request):
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
class Fault(door.Fault):
    silent: bool = False
    """A watch that sends nothing and does not end."""
    line: bytes = b""
    """What a watch sends before anything from the server."""


class Door(door.Door):
    def __init__(self, control_plane: ControlPlane, kubeconfig: Path) -> None:
        super().__init__()
        self.kubeconfig = kubeconfig
        """With the address of this door."""
        self._server = urlsplit(control_plane.place.api)
        self._context = ssl.create_default_context(cafile=str(control_plane.place.authority.root.certificate))
        self._streams: list[socket.socket] = []
        self._closing = threading.Event()
        self.at_once = self.most_at_once = 0

    def write_kubeconfig(self, original: Path, port: int) -> None:
        config = msgspec.yaml.decode(original.read_bytes())
        config["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{port}"}
        self.kubeconfig.write_bytes(msgspec.yaml.encode(config))

    def connect(self) -> http.client.HTTPSConnection:
        host, port = self._server.hostname, self._server.port
        assert host is not None
        return http.client.HTTPSConnection(host, port, timeout=30, context=self._context)

    def request(self, method: str, path: str, query: str) -> Request:
        return Request(method, path, query)

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
            if not request.is_watch:
                self.at_once += 1
                self.most_at_once = max(self.most_at_once, self.at_once)
        found: Fault | None = super().enter(request)
        return found

    def leave(self, request: Request) -> None:
        with self._lock:
            if not request.is_watch:
                self.at_once -= 1

    def hold(self, stream: socket.socket) -> None:
        with self._lock:
            self._streams.append(stream)

    def wait_for_closing(self) -> None:
        self._closing.wait()


class Handler(door.Handler):
    def passed_on(self) -> dict[str, str]:
        return {name: value for name, value in self.headers.items() if name.lower() in PASSED_ON}

    def suffers(self, request: Any, body: bytes, fault: Any) -> bool:
        if not fault.silent:
            return super().suffers(request, body, fault)
        fault.before()
        self._begin_stream(200)
        self.door.hold(self.connection)
        self.door.wait_for_closing()
        return True

    def respond(self, request: Any, answer: http.client.HTTPResponse, fault: Any) -> None:
        if not request.is_watch or answer.status != 200:
            super().respond(request, answer, fault)
            return
        self._begin_stream(answer.status)
        self.door.hold(self.connection)
        line = fault.line if fault else b""
        line = line or answer.readline()
        while line:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            line = answer.readline()
        self.wfile.write(b"0\r\n\r\n")

    def _begin_stream(self, code: int) -> None:
        self.send_response(code)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()


@contextmanager
def opened(control_plane: ControlPlane, directory: Path) -> Iterator[Door]:
    found = Door(control_plane, directory / "door.kubeconfig")
    with door.served(found, Handler) as port:
        found.write_kubeconfig(control_plane.kubeconfig, port)
        yield found
