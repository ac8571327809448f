"""Who may ask the page for what, and the headers of every answer. Wraps the whole application.

    Host      on loopback it must be a loopback name. Otherwise a hostile site whose name resolves to 127.0.0.1 (DNS
              rebinding) would count as the page itself in the browser
    token     for actions; for everything below /api/ on another address than loopback
    origin    actions must come from the page itself. Browsers say where a request comes from (Sec-Fetch-Site, Origin),
              and what comes from elsewhere gets nothing but the first document, which has no data

The answers allow no other site anything: there are no CORS headers, no frames, nothing loaded from outside.
"""

import hmac
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from restow.loopback import is_loopback, names_loopback
from restow.page.answers import refusal

API: Final = "/api/"
ACTIONS: Final = "/api/actions/"
OPEN: Final = ("/healthz", "/readyz", "/metrics")
"""For probes and Prometheus, which are no browsers and have no token; they tell nothing of the group."""
FROM_HERE: Final = ("same-origin", "none")

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "X-Frame-Options": "DENY",
}
NOT_KEPT: Final = "no-store"


class Guard:
    def __init__(self, app: ASGIApp, token: str, host: str) -> None:
        """`host` is the address that the server listens on."""
        self._app, self._token = app, token.encode()
        self._is_local = is_loopback(host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)  # the server's start and end; there are no web sockets
            return
        path: str = scope["path"]

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                if "cache-control" not in headers:
                    headers["Cache-Control"] = NOT_KEPT
            await send(message)

        refused = self._refusal(path, scope["method"], Headers(scope=scope))
        await (self._app if refused is None else refused)(scope, receive, send_guarded)

    def _refusal(self, path: str, method: str, headers: Headers) -> Response | None:
        """The answer to a request that must not go on; None for all others."""
        if self._is_local and not _is_local_name(headers):
            return refusal("ask for this page as localhost or 127.0.0.1; it is not known by another name", 421)
        if path in OPEN:
            return None
        if not _is_from_here(path, headers):
            return refusal("requests from other sites are refused", 403)
        is_action = path.startswith(ACTIONS)
        if (is_action or (path.startswith(API) and not self._is_local)) and not self._knows_token(headers):
            answer = refusal("the token is missing or wrong; `restow page` says where it is", 401)
            answer.headers["WWW-Authenticate"] = "Bearer"
            return answer
        return _action_refusal(headers) if is_action and method == "POST" else None

    def _knows_token(self, headers: Headers) -> bool:
        given = headers.getlist("authorization")
        scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        is_same = hmac.compare_digest(token.strip().encode("latin-1", "replace"), self._token)  # in constant time
        return scheme.lower() == "bearer" and is_same


def _action_refusal(headers: Headers) -> Response | None:
    origin, host = headers.get("origin"), headers.get("host")
    if origin is None or urlsplit(origin).netloc != host:  # the scheme may be that of a proxy before the page
        return refusal("an action must come from the page itself: Origin must name the same host", 403)
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return refusal("an action is JSON; send Content-Type: application/json", 415)
    return None


def _is_from_here(path: str, headers: Headers) -> bool:
    """Old browsers and other clients don't send Sec-Fetch-Site; the other checks cover them. A link on another site may
    open the page, but another site may not embed it in a frame."""
    if headers.get("sec-fetch-site", "none") in FROM_HERE:
        return True
    return path == "/" and headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"


def _is_local_name(headers: Headers) -> bool:
    hosts = headers.getlist("host")
    return len(hosts) == 1 and names_loopback(hosts[0])
