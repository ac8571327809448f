"""Requests to the Kubernetes API server, and watches on it. No other module makes any.

lightkube provides credentials and types. The requests go through httpx, because lightkube's watch lacks three things:
a limit on how long a silent connection counts as alive, a way to end it from another thread, and the bookmarks that
keep a quiet watch from expiring. An `Api` may be used by several threads.
"""

import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Generic, Literal, TypeVar

import httpx2
import msgspec
from lightkube.config.client_adapter import ConnectionParams
from lightkube.config.kubeconfig import SingleConfig
from lightkube.core.exceptions import ConfigError
from lightkube.models.meta_v1 import ObjectMeta, Status
from lightkube.resources.apps_v1 import Deployment, ReplicaSet
from lightkube.resources.core_v1 import PersistentVolumeClaim, Pod

from restow import __version__
from restow.platform.kubernetes.credentials import is_local

CONNECT_WITHIN_S: Final = 2.0
ANSWER_WITHIN_S: Final = 5.0
WATCH_S: Final = 240
"""Reopen watches this often, so that none stays on a dead server."""
SILENT_FOR_S: Final = 90.0
"""Bookmarks come every minute. A watch that was silent for longer is dead, even if its connection is open."""
FIELD_MANAGER: Final = "restow"

Kind = TypeVar("Kind", Deployment, ReplicaSet, Pod, PersistentVolumeClaim)

PATHS: Final[dict[type[object], str]] = {
    Deployment: "apis/apps/v1/namespaces/{}/deployments",
    ReplicaSet: "apis/apps/v1/namespaces/{}/replicasets",
    Pod: "api/v1/namespaces/{}/pods",
    PersistentVolumeClaim: "api/v1/namespaces/{}/persistentvolumeclaims",
}


FAILURES: Final = (httpx2.HTTPError, httpx2.StreamError, RuntimeError, ConfigError, OSError, KeyError, ValueError)
"""What a request can fail with before there is an answer; the last three also come from programs that print tokens."""


class ApiError(Exception):
    """A request failed; the message is one line."""

    retry_after_s: float | None = None
    """From the answer's Retry-After header."""


class Unreachable(ApiError):
    """There was no readable answer. The request may have been carried out nevertheless."""


class Rejected(ApiError):
    """The server answered with an error status."""

    def __init__(self, code: int, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.code, self.retry_after_s = code, retry_after_s


@dataclass(frozen=True, slots=True)
class Found(Generic[Kind]):
    items: tuple[Kind, ...]
    version: str
    """The resource version from which a watch continues."""


@dataclass(frozen=True, slots=True)
class Event(Generic[Kind]):
    what: Literal["opened", "changed", "removed", "bookmark"]
    item: Kind | None
    version: str
    """The resource version from which the next watch continues."""


class _ListMeta(msgspec.Struct):
    resourceVersion: str = ""  # noqa: N815 - as Kubernetes calls it


class _Bookmark(msgspec.Struct):
    metadata: _ListMeta


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw


@cache
def _listing(kind: type[object]) -> type[object]:
    return msgspec.defstruct("Listing", [("metadata", _ListMeta), ("items", list[kind])])  # type: ignore[valid-type]


class Api:
    def __init__(self, cluster: SingleConfig, namespace: str, connections: int) -> None:
        self._namespace = namespace
        self._lock = threading.Lock()
        self._is_closed = False
        self._streams: dict[int, Any] = {}
        """Connections of open watches, to be shut down by `close`."""
        timeout = httpx2.Timeout(ANSWER_WITHIN_S, connect=CONNECT_WITHIN_S)
        try:
            known = ConnectionParams(timeout=timeout, trust_env=not is_local(cluster)).httpx_params(cluster)
        except (OSError, ValueError) as error:  # a certificate is missing or damaged
            raise Unreachable(f"the credentials for {cluster.cluster.server} can't be used: {error}") from None
        self._http = httpx2.Client(
            **known,
            headers={"User-Agent": f"restow/{__version__}"},
            limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
        )
        self.server = cluster.cluster.server

    def close(self) -> None:
        """Also ends the watches, whose threads then see Unreachable."""
        with self._lock:
            self._is_closed = True
            for stream in self._streams.values():
                _shut_down(stream)
        self._http.close()

    def list(self, kind: type[Kind], labels: str) -> Found[Kind]:
        """All objects with these labels as of now: no resource version is given, so that no cache may answer."""
        answer = self._ask("GET", self._path(kind), {"labelSelector": labels})
        decoded: Any = _decoded(answer.content, _listing(kind))
        return Found(tuple(decoded.items), decoded.metadata.resourceVersion)

    def create(self, item: Kind, *, dry_run: bool = False) -> Kind:
        params = {"fieldManager": FIELD_MANAGER, **({"dryRun": "All"} if dry_run else {})}
        answer = self._ask("POST", self._path(type(item)), params, msgspec.json.encode(item))
        return _decoded(answer.content, type(item))

    def replace(self, item: Kind) -> Kind:
        """Rejected with 409 if the object was changed since it was read."""
        path = f"{self._path(type(item))}/{metadata_of(item).name}"
        answer = self._ask("PUT", path, {"fieldManager": FIELD_MANAGER}, msgspec.json.encode(item))
        return _decoded(answer.content, type(item))

    def delete(self, item: Deployment | PersistentVolumeClaim) -> None:
        """Deletes this object by its uid, not another that has its name by now; a Deployment after its dependents."""
        meta = metadata_of(item)
        policy = "Foreground" if isinstance(item, Deployment) else "Background"
        options = {"propagationPolicy": policy, "preconditions": {"uid": meta.uid}}
        self._ask("DELETE", f"{self._path(type(item))}/{meta.name}", {}, msgspec.json.encode(options))

    def watch(self, kind: type[Kind], labels: str, version: str) -> Iterator[Event[Kind]]:
        """Changes after this version, until the server ends the watch, as it does every few minutes."""
        params = {
            "watch": "true",
            "labelSelector": labels,
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_S),
        }
        timeout = httpx2.Timeout(ANSWER_WITHIN_S, connect=CONNECT_WITHIN_S, read=SILENT_FOR_S)
        try:
            with self._http.stream("GET", self._path(kind), params=params, timeout=timeout) as answer:
                self._check(answer)
                with self._tracked(answer):
                    yield Event("opened", None, version)
                    for line in answer.iter_lines():
                        yield _event(kind, line)
        except FAILURES as error:
            raise self._unreachable(error) from None

    @contextmanager
    def _tracked(self, answer: httpx2.Response) -> Iterator[None]:
        with self._lock:
            if self._is_closed:
                raise Unreachable("the platform is closed")
            self._streams[id(answer)] = answer.extensions["network_stream"]
        try:
            yield
        finally:
            with self._lock:
                del self._streams[id(answer)]

    def _path(self, kind: type[object]) -> str:
        return PATHS[kind].format(self._namespace)

    def _ask(self, method: str, path: str, params: Mapping[str, str], body: bytes | None = None) -> httpx2.Response:
        headers = {"Content-Type": "application/json"} if body else {}
        try:
            answer = self._http.request(method, path, params=params, content=body, headers=headers)
        except FAILURES as error:
            raise self._unreachable(error) from None
        self._check(answer)
        return answer

    def _check(self, answer: httpx2.Response) -> None:
        if answer.is_success:
            return
        answer.read()
        after = answer.headers.get("Retry-After", "")
        message = _status(answer.content).message or answer.text or answer.reason_phrase
        retry_after_s = float(after) if after.isdecimal() else None
        raise Rejected(answer.status_code, _one_line(message, answer.status_code), retry_after_s)

    def _unreachable(self, error: Exception) -> Unreachable:
        reason = " ".join(str(error).split())[:500] or type(error).__name__
        return Unreachable(f"Kubernetes at {self.server} doesn't answer: {reason}")


def metadata_of(item: Deployment | ReplicaSet | Pod | PersistentVolumeClaim) -> ObjectMeta:
    assert item.metadata is not None, "every object of the API server has metadata"
    return item.metadata


def _event(kind: type[Kind], line: str) -> Event[Kind]:
    read = _decoded(line.encode(), _Line)
    if read.type == "ERROR":
        status = _status(bytes(read.object))
        raise Rejected(status.code or 500, _one_line(status.message or "a watch failed", status.code or 500))
    if read.type == "BOOKMARK":  # an empty object with nothing but its version
        return Event("bookmark", None, _decoded(bytes(read.object), _Bookmark).metadata.resourceVersion)
    item = _decoded(bytes(read.object), kind)
    return Event("removed" if read.type == "DELETED" else "changed", item, metadata_of(item).resourceVersion or "")


T = TypeVar("T")


def _decoded(content: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.MsgspecError as error:
        raise Unreachable(f"Kubernetes sent an answer that can't be read: {error}") from None


def _status(content: bytes) -> Status:
    """Returns an empty one if the answer is another, such as a proxy's page."""
    try:
        return msgspec.json.decode(content, type=Status)
    except msgspec.MsgspecError:
        return Status()


def _one_line(message: str, code: int) -> str:
    return f"{' '.join(message.split())[:500]} ({code})"


def _shut_down(stream: Any) -> None:
    """Ends the stream for the thread that reads it. Closing it would free the descriptor while that thread uses it."""
    try:
        with socket.socket(fileno=os.dup(stream.get_extra_info("socket").fileno())) as same:
            same.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it has ended already
