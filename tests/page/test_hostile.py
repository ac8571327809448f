"""A hostile page in the same browser gets nothing: not with its own origin, and not with a name rebound to loopback.

Chromium resolves every name below `localhost` to this machine, as the attacker's own name server would.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser
from tests.support.page_stage import TOKEN, PageStage, group_of

pytestmark = pytest.mark.slow

ATTEMPTS = """async ([target, token]) => {
    const of = async (attempt) => { try { return await attempt(); } catch (error) { return "error"; } };
    const read = (options) => of(async () => {
        const answer = await fetch(target + "api/picture", options);
        return answer.type === "opaque" ? "opaque" : await answer.text();
    });
    const act = (type, more) => of(async () => {
        const options = {method: "POST", body: "{}", headers: {"Content-Type": type, ...more}};
        return (await fetch(target + "api/actions/pause", options)).status;
    });
    const loaded = (tag, address) => new Promise((resolve) => {
        const element = document.createElement(tag);
        element.onload = () => resolve("loaded");
        element.onerror = () => resolve("error");
        element.src = target + address;
        document.body.append(element);
    });
    const streamed = new Promise((resolve) => {
        const source = new EventSource(target + "api/events");
        source.onopen = () => resolve("opened");
        source.onerror = () => { source.close(); resolve("error"); };
    });
    const socket = new Promise((resolve) => {
        const opened = new WebSocket(target.replace("http", "ws") + "api/events");
        opened.onopen = () => resolve("opened");
        opened.onerror = () => resolve("error");
    });
    return {
        fetch: await read({}),
        credentials: await read({credentials: "include", headers: {Authorization: "Bearer " + token}}),
        opaque: await read({mode: "no-cors"}),
        plain: await act("text/plain", {}),
        json: await act("application/json", {Authorization: "Bearer " + token}),
        stream: await streamed,
        socket: await socket,
        script: await loaded("script", "static/main.js"),
        image: await loaded("img", "static/icon.svg"),
    };
}"""


class Blank(BaseHTTPRequestHandler):
    """The attacker's own site, without any policy."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>a hostile page</title><body></body>")

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def hostile_site() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Blank) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("name", ["evil.localhost", "127.0.0.1"])
def test_a_hostile_page_gets_nothing_even_with_the_token(browser: Browser, stage: PageStage, name: str) -> None:
    """`127.0.0.1` is another origin too, since its port is another one."""
    stage.shows(group_of(3, 8))
    with hostile_site() as port, browser.new_context() as context:
        page = context.new_page()
        answers: list[int] = []
        page.on("response", lambda each: answers.append(each.status) if each.url.startswith(stage.address) else None)
        page.goto(f"http://{name}:{port}/")
        got = page.evaluate(ATTEMPTS, [stage.address, TOKEN])
        assert got.pop("opaque") in ("opaque", "error")  # nothing can be read from it
        assert set(got.values()) == {"error"}, got
        assert set(answers) <= {401, 403, 405}, answers
        page.evaluate("address => { document.body.innerHTML = `<iframe src='${address}'></iframe>` }", stage.address)
        page.wait_for_timeout(500)
        assert [frame.url for frame in page.frames if frame.url.startswith(stage.address)] == []


def test_a_name_that_was_rebound_to_the_page_gets_nothing(browser: Browser, stage: PageStage) -> None:
    """For the browser this is the page's own origin: only the Host header tells."""
    stage.shows(group_of(3, 8))
    rebound = f"http://evil.localhost:{urlsplit(stage.address).port}/"
    with browser.new_context() as context:
        page = context.new_page()
        for path in ("", "api/picture", "static/main.js", "healthz"):
            answer = page.goto(rebound + path)
            assert answer is not None
            assert (answer.status, "shop-lake" in answer.text()) == (421, False)


def test_a_page_that_opened_the_page_has_no_hold_of_it(browser: Browser, stage: PageStage) -> None:
    stage.shows(group_of(3, 8))
    with hostile_site() as port, browser.new_context() as context:
        page = context.new_page()
        page.goto(f"http://evil.localhost:{port}/")
        with context.expect_page() as opened:
            page.evaluate("address => { window.opened = window.open(address) }", stage.address)
        opened.value.wait_for_load_state()
        assert opened.value.url == stage.address  # a link may open it
        assert opened.value.evaluate("window.opener === null")
        assert page.evaluate("window.opened.closed")  # as if it were: the browser has cut the two apart
