"""Makes the pictures of the page in docs/images from a run of `restow demo`. `make screenshots` runs it.

The demo grows to three consumers, and one is killed. When every partition is read again, the page is photographed in
light, in dark and as wide as a phone; the demo goes on to its end.
"""

import argparse
import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, Page, sync_playwright
from tests.support.chromium import chromium

IMAGES: Final = Path(__file__).parents[1] / "docs" / "images"
VIEWS: Final[dict[str, dict[str, Any]]] = {
    "page-light": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "page-dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "page-phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light", "device_scale_factor": 2},
}
ADDRESS: Final = re.compile(r"watch the group at (http://\S+)")
SHOWN: Final = "every partition is read again"
SETTLED_MS: Final = 12_000
"""The next whole picture, which has the new speeds, comes within ten seconds."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--for", dest="length", default="4m", metavar="TIME", help="the demo's length (default: 4m)")
    command = [sys.executable, "-m", "restow", "demo", "--for", parser.parse_args().length]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        try:
            is_photographed = _follow(demo.stdout)
        except BaseException:
            demo.send_signal(signal.SIGINT)
            raise
    if not is_photographed:
        sys.stderr.write("the demo ended before it had shown its page with three consumers\n")
    return demo.returncode if is_photographed else 1


def _follow(lines: Iterable[str]) -> bool:
    """Returns whether the page was photographed."""
    address, is_photographed = None, False
    for line in lines:
        sys.stdout.write(line)
        sys.stdout.flush()
        if (found := ADDRESS.search(line)) is not None:
            address = found[1]
        if SHOWN in line and address is not None:
            photograph(address)
            is_photographed = True
    return is_photographed


def photograph(address: str) -> None:
    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright, chromium(playwright) as browser:
        for page, name in [(opened(browser, address, view), name) for name, view in VIEWS.items()]:
            page.screenshot(path=IMAGES / f"{name}.png", full_page=name != "page-phone")
            sys.stdout.write(f"wrote docs/images/{name}.png\n")


def opened(browser: Browser, address: str, view: dict[str, Any]) -> Page:
    page = browser.new_context(**view).new_page()
    page.goto(address)
    page.get_by_role("button", name="15 min").click()
    page.wait_for_timeout(SETTLED_MS / len(VIEWS))
    return page


if __name__ == "__main__":
    sys.exit(main())
