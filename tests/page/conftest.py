"""One Chromium and one page without Kafka for all tests of this folder that ask for them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from tests.support.chromium import chromium, chromium_path
from tests.support.page_stage import PageStage, page_stage

Until = Callable[[Callable[[], object]], None]


@dataclass
class Window:
    """A page in a browser of its own, and everything that must not happen in it."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    """Of the console, of scripts, and of the content security policy, which has the console say so."""
    addresses: list[str] = field(default_factory=list)
    """Of all requests."""

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    def until(self, condition: Callable[[], object], within_ms: float = 120_000) -> None:
        """Playwright's own wait needs eval(), which the page's policy forbids."""
        for _ in range(round(within_ms / 50)):
            if condition():
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"not within {within_ms:g} ms")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Not for the whole session: as long as playwright runs, this thread has an event loop, and no test here could run
    one of its own."""
    if chromium_path() is None:
        pytest.skip("there is no chromium on this machine; on Debian: apt-get install chromium")
    with sync_playwright() as playwright, chromium(playwright) as started:
        yield started


@pytest.fixture
def stage() -> Iterator[PageStage]:
    with page_stage() as shown:
        yield shown


Opened = Callable[..., Window]


@contextmanager
def watched(browser: Browser, address: str, path: str = "", width: int = 1280, **options: object) -> Iterator[Window]:
    """Opens a page. At the end, nothing was complained about, and no request has left its host."""
    with browser.new_context(viewport={"width": width, "height": 900}, **options) as context:  # type: ignore[arg-type]
        window = Window(context.new_page())
        window.page.on("console", lambda line: window.complaints.append(line.text))
        window.page.on("pageerror", lambda error: window.complaints.append(str(error)))
        window.page.on("request", lambda request: window.addresses.append(request.url))
        window.page.goto(address + path)
        yield window
    assert window.complaints == []
    assert [each for each in window.addresses if not each.startswith(address)] == []


@pytest.fixture
def opened(browser: Browser, stage: PageStage) -> Iterator[Opened]:
    """Opens the stage's page, as `watched` does."""
    with ExitStack() as ending:

        def open_page(path: str = "", width: int = 1280, **options: object) -> Window:
            return ending.enter_context(watched(browser, stage.address, path, width, **options))

        yield open_page
