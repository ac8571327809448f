"""How fast the page is in Chromium: from the address to the first paint and to the drawn group, and the scripting that
an update costs, with its animation.

`make bench` runs it, as `python -m bench.page`. The groups are synthetic, the server and the front end are the
product's. Scripting is CPU time; what an update takes by the clock, without its animation, is printed as well. The exit
code is 1 if a first paint took a second or more, or an update more than 50 ms of scripting. `--into docs/page.md`
writes the table there.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from bench.large_groups import write_between_marks
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
MARKS: Final = ("<!-- bench/page.py begin -->\n", "<!-- bench/page.py end -->\n")
TITLES: Final = (
    *("consumers", "partitions", "first paint", "drawn"),
    *("all speeds change: scripting", "by the clock", "a partition moves: scripting", "by the clock", "longest task"),
)


class Update(NamedTuple):
    scripting_ms: float
    """With its animation."""
    clock_ms: float
    """Without."""


@dataclass(frozen=True)
class Times:
    paint_ms: float
    drawn_ms: float
    whole: Update
    move: Update
    task_ms: float

    @property
    def is_well(self) -> bool:
        slowest_ms = max(self.whole.scripting_ms, self.move.scripting_ms)
        return self.paint_ms < LONGEST_PAINT_MS and slowest_ms < MOST_SCRIPTING_MS

    def row(self, consumers: int, partitions: int) -> str:
        times = (self.paint_ms, self.drawn_ms, *self.whole, *self.move, self.task_ms)
        return f"| {consumers} | {partitions:,} | {' | '.join(f'{each:,.0f} ms' for each in times)} |"


def main() -> int:
    options = arguments()
    rows = [f"| {' | '.join(TITLES)} |", "|" + "---|" * len(TITLES)]
    print_line("\n".join(rows))
    well = True
    with sync_playwright() as playwright, chromium(playwright) as browser:
        for consumers, partitions in SIZES:
            with page_stage() as stage:
                found = measured(browser, stage, group_of(consumers, partitions), options)
            rows.append(found.row(consumers, partitions))
            print_line(rows[-1])
            well &= found.is_well
    if options.into is not None:
        write_between_marks(options.into, "\n".join((*rows, "")), *MARKS)
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
    paint_ms, drawn_ms = (statistics.median(each) for each in zip(*loads, strict=True))
    whole, move = (Update(*map(statistics.median, zip(*each, strict=True))) for each in (wholes, moves))
    return Times(paint_ms, drawn_ms, whole, move, task_ms)


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
) -> tuple[list[Update], list[Update]]:
    """Whole pictures in which every speed differs, and changes in which one partition moves."""
    consumers = len(picture.consumers)
    wholes, moves = [], []
    for number in range(count):
        whole = faster(picture, 0.9 + 0.02 * number)
        wholes.append(updated(page, session, partial(stage.shows, whole)))
        name = next(iter(whole.partitions))
        holder = whole.partitions[name].consumer or 1
        moving = moved(whole, name, holder % consumers + 1)
        moves.append(updated(page, session, partial(stage.shows, moving)))
    return wholes, moves


def updated(page: Page, session: CDPSession, act: Callable[[], None]) -> Update:
    """All scripting until the page is at rest again."""
    before_ms, drawn = script_ms(session), page.evaluate(f"{UPDATES}.length")
    act()
    until(page, f"{UPDATES}.length > {drawn}")
    page.wait_for_timeout(SETTLED_MS)
    return Update(script_ms(session) - before_ms, page.evaluate(f"{UPDATES}.at(-1).duration"))


def until(page: Page, condition: str) -> None:
    """Playwright's own wait needs eval(), which the page's policy forbids."""
    deadline_s = time.monotonic() + WITHIN_S
    while not page.evaluate(condition):
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"not within {WITHIN_S:g} s: {condition}")
        page.wait_for_timeout(100)


UPDATES = "performance.getEntriesByName('restow-update', 'measure')"


def script_ms(session: CDPSession) -> float:
    metrics = session.send("Performance.getMetrics")["metrics"]
    return 1000 * float(next(each["value"] for each in metrics if each["name"] == "ScriptDuration"))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loads", type=int, default=5, help="page loads for each size")
    parser.add_argument("--updates", type=int, default=5, help="updates of each kind for each size")
    parser.add_argument("--into", type=Path, metavar="FILE", help="write the table between the marks of this file")
    return parser.parse_args()


def print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
