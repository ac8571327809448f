"""Makes the pictures of the page in docs/images, and the README's listing, from a run of `restow demo`.

`make screenshots` runs it. The demo grows to two consumers and a spare, and one is killed. When every partition is read
again, the page is photographed in light, in dark and as wide as a phone; the demo goes on to its end. Then a part of
what it narrated takes the place of the listing in the README, and its records and latencies those of the last run.
"""

import argparse
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, Page, sync_playwright
from tests.support.chromium import chromium

ROOT: Final = Path(__file__).parents[1]
IMAGES: Final = ROOT / "docs" / "images"
VIEWS: Final[dict[str, dict[str, Any]]] = {
    "page-light": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "page-dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "page-phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light", "device_scale_factor": 2},
}
ADDRESS: Final = re.compile(r"watch the group at (http://\S+)")
SHOWN: Final = re.compile("every partition is read again|quiet again: ")
"""On a busy machine the second may come without the first."""
SETTLED_MS: Final = 12_000
"""The next whole picture, which has the new speeds, comes within ten seconds."""
LISTING: Final = re.compile(r"(?<=^```text\n)  0:00  starting Apache Kafka.*?(?=^```$)", re.MULTILINE | re.DOTALL)
PRODUCED: Final = re.compile(r"the load ends: ([\d,]+) records")
LATENCY: Final = re.compile(r"latency, from timestamp to commit\s+([\d.]+) s p50, ([\d.]+) s p99")
FIGURES: Final = (
    (re.compile(r"[\d,]+(?=\s+records\s+produced,)"), PRODUCED, 1),
    (re.compile(r"[\d,]+(?=\s+rows\s+stored,)"), PRODUCED, 1),
    (re.compile(r"[\d.]+(?=\s+s,\s+half\s+of\s+them\s+within)"), LATENCY, 2),
    (re.compile(r"(?<=half of them within )[\d.]+(?= s\.)"), LATENCY, 1),
)
"""Of the run: where the README has each, and in which line and group of what was narrated it is found."""
LEFT_OUT: Final = re.compile(
    r"load [\d.]+, measured|Kafka runs at|starting the monitor|watch the group|stopping the group|"
    r"the page's last picture|controller: (?!consumer \d+: re|\d+ -> \d+ consumers)"
)
"""What is narrated every few seconds, and what says little to a reader."""
CLOCK: Final = re.compile(r" *\d+:\d\d  ")
REASON: Final = re.compile(r" {10}(consumer \d+ is|[a-z]+-\d+ goes)")
INDENT: Final = 8
REASON_INDENT: Final = 10
MOST_REASONS: Final = 3
WIDTH: Final = 120


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--for", dest="length", default="4m", metavar="TIME", help="the demo's length (default: 4m)")
    command = [sys.executable, "-m", "restow", "demo", "--for", parser.parse_args().length]
    told: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        try:
            is_photographed = _follow(demo.stdout, told)
        except BaseException:
            demo.send_signal(signal.SIGINT)
            raise
    if not is_photographed:
        sys.stderr.write("the demo ended before it had shown its page after the accident\n")
    elif demo.returncode == 0:
        readme = ROOT / "README.md"
        readme.write_text(with_listing(readme.read_text(encoding="utf-8"), told), encoding="utf-8")
        sys.stdout.write("wrote the listing in README.md\n")
    return demo.returncode if is_photographed else 1


def with_listing(readme: str, told: Sequence[str]) -> str:
    """The README with a shortened listing of what this run narrated, and with its figures."""
    readme = LISTING.sub(lambda _: "".join(f"{line}\n" for line in shortened(told)), readme)
    for place, line, group in FIGURES:
        [figure] = [found[group] for each in told if (found := line.search(each))]
        readme, count = place.subn(figure, readme)
        assert count == 1, f"the README has {count} places for {place.pattern}"
    return readme


def shortened(told: Iterable[str]) -> Iterator[str]:
    """Without what LEFT_OUT names, with a few reasons of each decision, wrapped to the README's width."""
    is_left_out, reasons = False, 0
    for item in items(told):
        if item.startswith(" " * REASON_INDENT):
            reasons += 1
        else:
            is_left_out, reasons = LEFT_OUT.search(item) is not None, 0
        if not is_left_out and reasons <= MOST_REASONS:
            indent = REASON_INDENT if reasons else INDENT
            yield from textwrap.wrap(item, WIDTH, subsequent_indent=" " * indent, drop_whitespace=True)


def items(told: Iterable[str]) -> Iterator[str]:
    """What was narrated, each thing and each reason on one line, up to the table of the audit."""
    item = ""
    for line in told:
        is_new = CLOCK.match(line) is not None or REASON.match(line) is not None
        if not is_new and not line.startswith(" " * INDENT):
            break
        if is_new and item:
            yield item
        item = line.rstrip() if is_new else f"{item} {line.strip()}"
    yield item


def _follow(lines: Iterable[str], told: list[str]) -> bool:
    """Returns whether the page was photographed. Adds the lines to `told`."""
    address, is_photographed = None, False
    for line in lines:
        told.append(line)
        sys.stdout.write(line)
        sys.stdout.flush()
        if (found := ADDRESS.search(line)) is not None:
            address = found[1]
        if SHOWN.search(line) and address is not None and not is_photographed:
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
    page.get_by_role("button", name="15 min").click()  # which scrolls there
    page.evaluate("window.scrollTo(0, 0)")
    page.wait_for_timeout(SETTLED_MS / len(VIEWS))
    return page


if __name__ == "__main__":
    sys.exit(main())
