"""The requests and watches that restow makes of an API server, and what their answers mean. All are made here.

lightkube has the credentials and the types; the requests are made with httpx, because three things need to be in our
hands: how long a silent watch is believed to be alive, that a watch ends when we end, and the bookmarks which keep a
quiet watch from expiring. An object may be used by several threads.
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
"""A watch is begun anew so often, so that one that goes to a server which left doesn't last."""
SILENT_FOR_S: Final = 90.0
"""Bookmarks come every minute. A watch in which nothing came for longer is dead, though nobody has said so."""
FIELD_MANAGER: Final = "restow"

Kind = TypeVar("Kind", Deployment, ReplicaSet, Pod, PersistentVolumeClaim)

PATHS: Final[dict[type[object], str]] = {
    Deployment: "apis/apps/v1/namespaces/{}/deployments",
    ReplicaSet: "apis/apps/v1/namespaces/{}/replicasets",
    Pod: "api/v1/namespaces/{}/pods",
    PersistentVolumeClaim: "api/v1/namespaces/{}/persistentvolumeclaims",
}


FAILURES: Final = (httpx2.HTTPError, httpx2.StreamError, RuntimeError, ConfigError, OSError, KeyError, ValueError)
"""What goes wrong on the way to the server; the last three also of a program that was to print a token."""


class Trouble(Exception):
    """A request came to nothing; the message is one line for people."""

    retry_after_s: float | None = None
    """How long the server wants to be left alone."""


class Unreachable(Trouble):
    """No answer. The request may have been carried out nevertheless."""


class Answered(Trouble):
    """The server said no."""

    def __init__(self, code: int, words: str, retry_after_s: float | None = None) -> None:
        super().__init__(words)
        self.code, self.retry_after_s = code, retry_after_s


@dataclass(frozen=True, slots=True)
class Found(Generic[Kind]):
    items: tuple[Kind, ...]
    version: str
    """Where a watch goes on from."""


@dataclass(frozen=True, slots=True)
class Event(Generic[Kind]):
    what: Literal["opened", "changed", "removed", "nothing"]
    item: Kind | None
    version: str
    """From where on the next watch would miss nothing."""


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
        """The connections of watches, to be cut when this is closed."""
        timeout = httpx2.Timeout(ANSWER_WITHIN_S, connect=CONNECT_WITHIN_S)
        try:
            known = ConnectionParams(timeout=timeout, trust_env=not is_local(cluster)).httpx_params(cluster)
        except (OSError, ValueError) as error:  # certificates that aren't there or aren't certificates
            raise Unreachable(f"the credentials for {cluster.cluster.server} can't be used: {error}") from None
        self._http = httpx2.Client(
            **known,
            headers={"User-Agent": f"restow/{__version__}"},
            limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
        )
        self.server = cluster.cluster.server

    def close(self) -> None:
        """Also wakes whoever waits in a watch."""
        with self._lock:
            self._is_closed = True
            for stream in self._streams.values():
                _cut(stream)
        self._http.close()

    def list(self, kind: type[Kind], labels: str) -> Found[Kind]:
        """All that have these labels, as of now: no older answer is taken from a cache."""
        answer = self._ask("GET", self._path(kind), {"labelSelector": labels})
        decoded: Any = _decoded(answer.content, _listing(kind))
        return Found(tuple(decoded.items), decoded.metadata.resourceVersion)

    def create(self, item: Kind, *, dry_run: bool = False) -> Kind:
        params = {"fieldManager": FIELD_MANAGER, **({"dryRun": "All"} if dry_run else {})}
        answer = self._ask("POST", self._path(type(item)), params, msgspec.json.encode(item))
        return _decoded(answer.content, type(item))

    def replace(self, item: Kind) -> Kind:
        """Refused with code 409 where it was changed since it was read."""
        path = f"{self._path(type(item))}/{metadata_of(item).name}"
        answer = self._ask("PUT", path, {"fieldManager": FIELD_MANAGER}, msgspec.json.encode(item))
        return _decoded(answer.content, type(item))

    def delete(self, item: Deployment | PersistentVolumeClaim) -> None:
        """This very object, and not another that has its name by now. A Deployment goes after all that it made."""
        meta = metadata_of(item)
        policy = "Foreground" if isinstance(item, Deployment) else "Background"
        options = {"propagationPolicy": policy, "preconditions": {"uid": meta.uid}}
        self._ask("DELETE", f"{self._path(type(item))}/{meta.name}", {}, msgspec.json.encode(options))

    def watch(self, kind: type[Kind], labels: str, version: str) -> Iterator[Event[Kind]]:
        """What changes from there on, until the server ends it, which it does every few minutes."""
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
                with self._listening(answer):
                    yield Event("opened", None, version)
                    for line in answer.iter_lines():
                        yield _event(kind, line)
        except FAILURES as error:
            raise self._unreachable(error) from None

    @contextmanager
    def _listening(self, answer: httpx2.Response) -> Iterator[None]:
        with self._lock:
            if self._is_closed:
                raise Unreachable("this side has ended")
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
        words = _status(answer.content).message or answer.text or answer.reason_phrase
        retry_after_s = float(after) if after.isdecimal() else None
        raise Answered(answer.status_code, _one_line(words, answer.status_code), retry_after_s)

    def _unreachable(self, error: Exception) -> Unreachable:
        words = " ".join(str(error).split())[:500] or type(error).__name__
        return Unreachable(f"Kubernetes at {self.server} doesn't answer: {words}")


def metadata_of(item: Deployment | ReplicaSet | Pod | PersistentVolumeClaim) -> ObjectMeta:
    assert item.metadata is not None, "the API server's objects have metadata"
    return item.metadata


def _event(kind: type[Kind], line: str) -> Event[Kind]:
    read = _decoded(line.encode(), _Line)
    if read.type == "ERROR":
        status = _status(bytes(read.object))
        raise Answered(status.code or 500, _one_line(status.message or "a watch failed", status.code or 500))
    if read.type == "BOOKMARK":  # an object of which nothing is filled in but its version
        return Event("nothing", None, _decoded(bytes(read.object), _Bookmark).metadata.resourceVersion)
    item = _decoded(bytes(read.object), kind)
    return Event("removed" if read.type == "DELETED" else "changed", item, metadata_of(item).resourceVersion or "")


T = TypeVar("T")


def _decoded(content: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.MsgspecError as error:
        raise Unreachable(f"Kubernetes gave an answer that can't be read: {error}") from None


def _status(content: bytes) -> Status:
    """A proxy in between may answer in other words."""
    try:
        return msgspec.json.decode(content, type=Status)
    except msgspec.MsgspecError:
        return Status()


def _one_line(words: str, code: int) -> str:
    return f"{' '.join(words.split())[:500]} ({code})"


def _cut(stream: Any) -> None:
    """A thread that reads from it sees its end. Closing it here would pull it away under that thread."""
    try:
        with socket.socket(fileno=os.dup(stream.get_extra_info("socket").fileno())) as same:
            same.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it has ended by itself
