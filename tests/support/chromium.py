"""A headless Chromium, driven by playwright: the machine's own, as Debian installs it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from playwright.sync_api import Browser, Playwright

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")


def chromium_path() -> str | None:
    """Returns None if there is none on the PATH."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def chromium(playwright: Playwright) -> Iterator[Browser]:
    path = chromium_path()
    assert path is not None, "there is no chromium on the PATH; on Debian: apt-get install chromium"
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # root may not use it
    browser = playwright.chromium.launch(executable_path=path, args=sandbox)
    try:
        yield browser
    finally:
        browser.close()
