"""Writes the pages of docs/ that are made from the code. `make docs` runs it; a test fails where a page is old."""

import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from restow.controller import diagram, effects, events, transitions
from restow.metrics import reference as metrics_reference
from restow.picture import picture
from restow.picture import reference as picture_reference
from restow.platform import interface
from restow.protocol import reference
from restow.settings import reference as settings_reference

DOCS: Final = Path(__file__).parent.parent / "docs"


def protocol() -> str:
    return reference.page(map(inspect.getsource, reference.kinds()))


def controller() -> str:
    return diagram.page(map(inspect.getsource, (transitions, events, interface, effects)))


def settings() -> str:
    return settings_reference.page(map(inspect.getsource, settings_reference.kinds()))


def group_picture() -> str:
    return picture_reference.page([inspect.getsource(picture)])


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "protocol.md": protocol,
    "controller.md": controller,
    "settings.md": settings,
    "picture.md": group_picture,
    "metrics.md": metrics_reference.page,
}


def main() -> int:
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
