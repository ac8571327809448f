"""The client of schema registries, against an HTTP server that shows what it was asked."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from restow.pipeline.formats.errors import RegistryUnavailable, SchemaError
from restow.pipeline.formats.registry import Reference, RegisteredSchema, Registry
from restow.settings import Group, Kafka, Settings
from restow.settings import Registry as RegistrySettings

HUSH = "hush-hush"


class Server(ThreadingHTTPServer):
    """Answers what a test tells it to."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, tuple[int, Any]] = {}
        self.asked: list[tuple[str, str | None]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        code, answer = self.server.answers.get(self.path, (404, {"error_code": 40403}))
        self.send_response(code)
        if 300 <= code < 400:
            self.send_header("Location", answer)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  it is called so in the base class
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def registry(server: Server, own: RegistrySettings | None = None) -> Registry:
    return Registry(server.url, Settings(Kafka("a:1"), Group("lake"), registry=own or RegistrySettings()))


def test_schemas_come_by_id_and_by_subject(server: Server) -> None:
    references = [{"name": "a.proto", "subject": "a", "version": 2}]
    server.answers = {
        "/schemas/ids/7": (200, {"schema": "text"}),
        "/subjects/orders%2Feu/versions/latest": (200, {"id": 9, "schema": "{}", "schemaType": "JSON"}),
        "/subjects/a/versions": (200, [1, 2]),
        "/subjects/a/versions/2": (
            200,
            {"id": 3, "schema": "p", "schemaType": "PROTOBUF", "references": references},
        ),
    }
    found = registry(server)
    assert found.by_id(7) == RegisteredSchema(7, "avro", "text")
    assert found.by_id(8) is None
    assert found.newest("orders/eu") == RegisteredSchema(9, "json", "{}")
    imported = RegisteredSchema(3, "protobuf", "p", (Reference("a.proto", "a", 2),))
    assert found.versions("a", 1) == [imported]
    assert found.referred(Reference("a.proto", "a", 2)) == imported


def test_what_is_missing_is_an_error_that_says_what_to_do(server: Server) -> None:
    with pytest.raises(SchemaError, match=r"has no subject orders; register its schema, or write another subject"):
        registry(server).newest("orders")


@pytest.mark.parametrize(
    ("own", "header"),
    [
        (RegistrySettings(), None),
        ({"username": "restow", "password": HUSH}, f"Basic {base64.b64encode(b'restow:' + HUSH.encode()).decode()}"),
        ({"token": HUSH}, f"Bearer {HUSH}"),
    ],
)
def test_credentials_are_sent_to_their_own_registry_alone(server: Server, own: Any, header: str | None) -> None:
    server.answers = {"/schemas/ids/7": (200, {"schema": "text"})}
    if isinstance(own, dict):
        registry(server, RegistrySettings(url=f"{server.url}/", **own)).by_id(7)
        registry(server, RegistrySettings(url="http://other:1", **own)).by_id(7)
        assert [sent for _, sent in server.asked] == [header, None]
    else:
        registry(server, own).by_id(7)
        assert [sent for _, sent in server.asked] == [None]


def test_a_redirect_is_not_followed(server: Server) -> None:
    server.answers = {"/schemas/ids/7": (302, f"{server.url}/elsewhere")}
    own = RegistrySettings(url=server.url, token=HUSH)
    with pytest.raises(RegistryUnavailable, match=r"answered: 302, moved; write the URL that it moved to"):
        registry(server, own).by_id(7)
    assert [path for path, _ in server.asked] == ["/schemas/ids/7"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((500, {}), "answered: 500"),
        ((401, {}), "401, not allowed; write its credentials into [registry], with its URL"),
        ((200, ["x"]), "answered: something else than a schema; is its URL right?"),
        ((200, {"schema": 3}), "answered something else than a schema; is its URL right?"),
        ((200, {"schema": "x", "schemaType": "XML"}), "answered something else than a schema; is its URL right?"),
    ],
)
def test_an_answer_that_is_no_schema_may_be_one_later_and_shows_no_secret(
    server: Server, answer: tuple[int, Any], reason: str
) -> None:
    server.answers = {"/schemas/ids/7": answer}
    with pytest.raises(RegistryUnavailable) as failed:
        registry(server, RegistrySettings(url=server.url, token=HUSH)).by_id(7)
    assert reason in str(failed.value)
    assert HUSH not in str(failed.value)


def test_a_registry_that_is_down_is_named() -> None:
    found = Registry("http://127.0.0.1:1", Settings(Kafka("a:1"), Group("lake")))
    with pytest.raises(RegistryUnavailable, match=r"the registry http://127\.0\.0\.1:1 was asked for /schemas/ids/7"):
        found.by_id(7)


def test_settings_show_no_secret() -> None:
    own = RegistrySettings(url="http://a", username="restow", password=HUSH)
    assert HUSH not in repr(Settings(Kafka("a:1"), Group("lake"), registry=own))
