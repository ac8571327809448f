"""How fast the page is in Chromium: from the address to the first paint and to the drawn group, and the scripting that
an update costs, with its animation.

`make bench` runs it, as `python -m bench.page`. The groups are synthetic, the server and the front end are the
product's. The exit code is 1 if a first paint took a second or more, or an update more than 50 ms of scripting.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright
from tests.support.chromium import chromium
from tests.support.page_stage import PageStage, faster, group_of, moved, page_stage

from restow.picture.picture import Picture

SIZES = ((3, 8), (24, 160), (3, 5_000), (300, 5_000))
"""Consumers and partitions."""
LONGEST_PAINT_MS = 1_000.0
MOST_SCRIPTING_MS = 50.0
SETTLED_MS = 1_600.0
"""Longer than any animation."""
WITHIN_S = 120.0


@dataclass(frozen=True)
class Times:
    paint_ms: float
    drawn_ms: float
    whole_ms: float
    move_ms: float
    task_ms: float

    @property
    def is_well(self) -> bool:
        return self.paint_ms < LONGEST_PAINT_MS and max(self.whole_ms, self.move_ms) < MOST_SCRIPTING_MS


def main() -> int:
    options = arguments()
    titles = ("consumers", "partitions", "first paint ms", "drawn ms", "whole ms", "move ms", "longest task ms")
    print_line("  ".join(titles))
    well = True
    with sync_playwright() as playwright, chromium(playwright) as browser:
        for consumers, partitions in SIZES:
            with page_stage() as stage:
                found = measured(browser, stage, group_of(consumers, partitions), options)
            numbers = (
                consumers,
                partitions,
                found.paint_ms,
                found.drawn_ms,
                found.whole_ms,
                found.move_ms,
                found.task_ms,
            )
            print_line("  ".join(f"{value:{len(title)},.0f}" for value, title in zip(numbers, titles, strict=True)))
            well &= found.is_well
    return 0 if well else 1


def measured(browser: Browser, stage: PageStage, picture: Picture, options: argparse.Namespace) -> Times:
    """Medians, and the longest of all tasks."""
    stage.shows(picture)
    loads = [loaded(browser, stage) for _ in range(options.loads)]
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        page.goto(stage.address)
        until(page, "performance.getEntriesByName('restow-first-picture').length")
        page.evaluate(WATCH_TASKS)
        page.wait_for_timeout(SETTLED_MS)
        session = context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})  # not what others take
        wholes, moves = updates(page, session, stage, picture, options.updates)
        task_ms = page.evaluate("Math.max(0, ...window.longTasks)")
    paints, draws = zip(*loads, strict=True)
    paint, drawn, whole, move = (statistics.median(each) for each in (paints, draws, wholes, moves))
    return Times(paint, drawn, whole, move, task_ms)


WATCH_TASKS = """() => {
  window.longTasks = [];
  new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((entry) => entry.duration)))
    .observe({ type: "longtask" });
}"""


def loaded(browser: Browser, stage: PageStage) -> tuple[float, float]:
    """First contentful paint and first drawn picture, in milliseconds after the navigation began, with an empty
    cache."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        page.goto(stage.address)
        until(page, "performance.getEntriesByName('restow-first-picture').length")
        until(page, "performance.getEntriesByName('first-contentful-paint').length")
        first = "performance.getEntriesByName('{}')[0].startTime"
        return page.evaluate(first.format("first-contentful-paint")), page.evaluate(
            first.format("restow-first-picture")
        )


def updates(
    page: Page, session: CDPSession, stage: PageStage, picture: Picture, count: int
) -> tuple[list[float], list[float]]:
    """The scripting of whole pictures in which every speed differs, and of changes in which one partition moves."""
    consumers = len(picture.consumers)
    wholes, moves = [], []
    for number in range(count):
        whole = faster(picture, 0.9 + 0.02 * number)
        wholes.append(scripting_ms(page, session, partial(stage.shows, whole)))
        name = next(iter(whole.partitions))
        holder = whole.partitions[name].consumer or 1
        moving = moved(whole, name, holder % consumers + 1)
        moves.append(scripting_ms(page, session, partial(stage.shows, moving)))
    return wholes, moves


def scripting_ms(page: Page, session: CDPSession, act: Callable[[], None]) -> float:
    """All scripting until the page is at rest again."""
    before_ms, drawn = script_ms(session), page.evaluate(UPDATES)
    act()
    until(page, f"{UPDATES} > {drawn}")
    page.wait_for_timeout(SETTLED_MS)
    return script_ms(session) - before_ms


def until(page: Page, condition: str) -> None:
    """Playwright's own wait needs eval(), which the page's policy forbids."""
    deadline_s = time.monotonic() + WITHIN_S
    while not page.evaluate(condition):
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"not within {WITHIN_S:g} s: {condition}")
        page.wait_for_timeout(100)


UPDATES = "performance.getEntriesByName('restow-update', 'measure').length"


def script_ms(session: CDPSession) -> float:
    metrics = session.send("Performance.getMetrics")["metrics"]
    return 1000 * float(next(each["value"] for each in metrics if each["name"] == "ScriptDuration"))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loads", type=int, default=5, help="page loads for each size")
    parser.add_argument("--updates", type=int, default=5, help="updates of each kind for each size")
    return parser.parse_args()


def print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
