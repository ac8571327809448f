"""The files in static/: index.html, modules and styles, read once at the start."""

import hashlib
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

INDEX: Final = "index.html"
TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
}
"""Not those of the machine: browsers refuse a module with another type."""


class Asset(NamedTuple):
    content: bytes
    media_type: str
    etag: str


def read_assets() -> dict[str, Asset]:
    """By the path below static/."""
    return dict(_below(files("restow.page") / "static", ""))


def served(assets: Mapping[str, Asset], name: str, request: Request) -> Response:
    asset = assets.get(name)
    if asset is None:
        return Response("there is no such file\n", 404, media_type="text/plain")
    headers = {"ETag": asset.etag, "Cache-Control": "no-cache"}
    if asset.etag in [each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")]:
        return Response(status_code=304, headers=headers)
    return Response(asset.content, headers={**headers, "Content-Type": asset.media_type})


def _below(directory: Traversable, path: str) -> list[tuple[str, Asset]]:
    found: list[tuple[str, Asset]] = []
    for entry in directory.iterdir() if directory.is_dir() else ():
        name = f"{path}{entry.name}"
        if entry.is_dir():
            found += _below(entry, f"{name}/")
        elif (kind := TYPES.get(f".{entry.name.rpartition('.')[2]}")) is not None:
            content = entry.read_bytes()
            found.append((name, Asset(content, kind, f'"{hashlib.sha256(content).hexdigest()[:20]}"')))
    return found
