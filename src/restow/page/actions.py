"""/api/actions/…: pause, resume and recommend, as desired state on the service topic."""

import json
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from restow.errors import InvalidInput
from restow.page.answers import refusal

MOST_BYTES: Final = 10_000


async def body_of(request: Request) -> dict[str, Any]:
    """Raises InvalidInput if it is no JSON object, or too long."""
    content = b""
    async for piece in request.stream():
        content += piece
        if len(content) > MOST_BYTES:
            raise InvalidInput(f"the request has more than {MOST_BYTES:,} bytes")
    try:
        body = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        raise InvalidInput("the request must be JSON") from None
    if not isinstance(body, dict):
        raise InvalidInput("the request must be a JSON object")
    return body


async def act(request: Request) -> Response:
    await body_of(request)
    return refusal("this version of restow can't change a group from its page yet", 503)
