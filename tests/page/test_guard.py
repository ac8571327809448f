"""What the page refuses: other names, other sites, other origins, and actions without the token."""

from collections.abc import Mapping
from typing import Any

import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from tests.support.asgi import Answer, ask

from restow.loopback import is_loopback
from restow.page.guard import HEADERS, Guard

TOKEN = "a-token-of-many-letters"
PAUSE = "/api/actions/pause"
LOCAL = {"Host": "127.0.0.1:8642"}
AWAY = {"Host": "page.example.com"}
BEARER = {"Authorization": f"Bearer {TOKEN}"}
ACTION = {**LOCAL, **BEARER, "Origin": "http://127.0.0.1:8642", "Content-Type": "application/json"}


async def secret(scope: Scope, receive: Receive, send: Send) -> None:
    await Response("the group's picture")(scope, receive, send)


def asked(path: str, headers: Any, host: str = "127.0.0.1", method: str = "GET") -> Answer:
    return ask(Guard(secret, TOKEN, host), path, headers, method)


def is_allowed(answer: Answer) -> bool:
    assert (answer.status == 200) == (b"picture" in answer.body)
    return answer.status == 200


@pytest.mark.parametrize("host", ["localhost", "localhost:9999", "127.0.0.1:8642", "127.8.9.1", "[::1]:8642"])
def test_the_page_answers_to_a_name_of_loopback_on_any_port(host: str) -> None:
    assert is_allowed(asked("/api/picture", {"Host": host}))


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "evil.example:8642", "10.0.0.1", "", "[", "@"],
)
@pytest.mark.parametrize("path", ["/", "/api/picture", "/static/main.js", "/healthz", PAUSE])
def test_a_name_that_was_rebound_to_loopback_gets_nothing(host: str, path: str) -> None:
    assert asked(path, {**ACTION, "Host": host}).status == 421


def test_a_request_without_host_or_with_two_gets_nothing() -> None:
    assert asked("/api/picture", {}).status == 421
    assert asked("/api/picture", [("Host", "127.0.0.1"), ("Host", "evil.example")]).status == 421


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("path", ["/api/picture", "/api/events", "/static/main.js", PAUSE])
def test_another_site_in_the_same_browser_gets_nothing(site: str, path: str) -> None:
    assert asked(path, {**ACTION, "Sec-Fetch-Site": site}).status == 403


def test_a_link_may_open_the_page_and_a_frame_may_not() -> None:
    link = {**LOCAL, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert is_allowed(asked("/", link))
    assert asked("/", {**link, "Sec-Fetch-Dest": "iframe"}).status == 403
    assert asked("/api/picture", link).status == 403


def test_on_loopback_looking_needs_no_token() -> None:
    assert is_allowed(asked("/api/picture", {**LOCAL, "Sec-Fetch-Site": "same-origin"}))


def test_on_another_address_looking_needs_the_token_and_any_name_will_do() -> None:
    assert asked("/api/picture", AWAY, "0.0.0.0").status == 401
    assert is_allowed(asked("/api/picture", {**AWAY, **BEARER}, "0.0.0.0"))
    assert is_allowed(asked("/", AWAY, "0.0.0.0"))
    assert is_allowed(asked("/healthz", AWAY, "0.0.0.0"))


def test_an_action_with_token_origin_and_json_goes_on() -> None:
    assert is_allowed(asked(PAUSE, ACTION, method="POST"))
    tls_proxy = {**ACTION, **AWAY, "Origin": "https://page.example.com"}
    assert is_allowed(asked(PAUSE, tls_proxy, "10.1.2.3", method="POST"))


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer "}, 401),
        ({"Authorization": f"Bearer {TOKEN}x"}, 401),
        ({"Authorization": f"Bearer {TOKEN[:-1]}"}, 401),
        ({"Authorization": "Bearer \xe9"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:9999"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
    ],
)
def test_an_action_lacks_something(change: Mapping[str, str], status: int) -> None:
    assert asked(PAUSE, {**ACTION, **change}, method="POST").status == status


def test_an_action_without_an_origin_is_refused() -> None:
    without = {name: value for name, value in ACTION.items() if name != "Origin"}
    assert asked(PAUSE, without, method="POST").status == 403


def test_the_token_counts_only_once() -> None:
    twice = [*ACTION.items(), ("Authorization", "Bearer wrong")]
    assert asked(PAUSE, twice, method="POST").status == 401


@pytest.mark.parametrize(
    ("path", "headers"), [("/", LOCAL), ("/api/picture", LOCAL), ("/api/picture", {"Host": "evil.example"})]
)
def test_every_answer_has_the_headers_and_none_for_other_sites(path: str, headers: Mapping[str, str]) -> None:
    found = asked(path, headers).headers
    assert {name.lower(): value for name, value in HEADERS.items()}.items() <= found.items()
    assert found["cache-control"] == "no-store"
    assert not [name for name in found if name.startswith("access-control-")]
    assert "default-src 'none'" in found["content-security-policy"]
    assert "unsafe" not in found["content-security-policy"]


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False), ("host-7", False)],
)
def test_loopback_is_known_by_address(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected
