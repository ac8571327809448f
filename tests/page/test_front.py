"""The page in a real Chromium, with pictures that the test makes: what it shows, and what people can do with it."""

import re
import time
from dataclasses import replace

import pytest
from tests.page.conftest import Opened, Window
from tests.support.page_stage import CAPACITY, TOKEN, PageStage, day_of, group_at, group_of, moved, with_overview

from restow.clock import as_iso
from restow.controller.transitions import Phase
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.picture.picture import Paused, Picture, Pin, RaisedFlag
from restow.text import percent, sized

pytestmark = pytest.mark.slow


def shown(window: Window) -> None:
    window.until(lambda: window.page.locator("body").get_attribute("data-state") == "shown")


def test_it_shows_a_group_and_follows_a_move(stage: PageStage, opened: Opened) -> None:
    group = group_of(3, 8)
    stage.shows(group)
    window = opened()
    shown(window)
    assert window.text("h1") == "shop-lake"
    assert re.findall(r"^\d.*", window.text("#figures"), re.MULTILINE)[:2] == ["3", "4.3 MB/s"]
    assert window.text("#legend").split() == ["clicks", "orders"]
    assert "2 -> 3 consumers, 2 moves of 0.705 capacities" in window.text("#decisions")
    assert window.text("#health").count("good") == 4
    window.page.locator("#as-table summary").click()
    window.until(lambda: window.page.locator("#rows tr").count() == 3)
    name = TopicPartition("orders", 0)
    holder = group.partitions[name].consumer
    assert holder is not None
    target = holder % 3 + 1
    counts = window.page.locator("#rows tr td:nth-child(5)")
    before = int(counts.nth(target - 1).inner_text())
    stage.shows(moved(group, name, target))
    window.until(lambda: int(counts.nth(target - 1).inner_text()) == before + 1)
    assert window.page.locator("#frame").get_attribute("data-moved") == "1"


def test_what_can_be_clicked_can_be_reached_with_keys(stage: PageStage, opened: Opened) -> None:
    group = group_of(3, 8)
    [first] = [place for place, status in group.partitions.items() if status.consumer == 2][:1]
    pins = SortedMapping[TopicPartition, Pin](
        {first: Pin(ConsumerId(2), as_iso(time.time() + 600), "ada@lake-1", None, "a trial")}
    )
    stage.shows(with_overview(group, pins=pins))
    window = opened()
    shown(window)
    page = window.page
    page.locator("#frame").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    window.until(lambda: page.locator("#panel").is_visible())
    assert window.text("#panel-title") == "Consumer 2"
    window.until(lambda: "consumer 2 is ready" in window.text("#panel-body"))
    page.keyboard.press("Escape")
    assert not page.locator("#panel").is_visible()
    assert page.evaluate("document.activeElement.id") == "frame"
    page.keyboard.press("ArrowUp")
    window.until(lambda: str(first) in page.locator("#spoken").inner_text())
    page.keyboard.press("Enter")
    window.until(lambda: window.text("#panel-title") == str(first))
    window.until(lambda: f"{first} is read by consumer 2" in window.text("#panel-body"))
    assert re.search(r"to consumer 2 until [\d: -]+ by ada@lake-1: a trial", window.text("#panel-body"))
    page.keyboard.press("Escape")
    frame = page.locator("#frame").bounding_box()
    assert frame is not None
    page.locator("#frame").click(position={"x": 40, "y": frame["height"] - 30})
    window.until(lambda: window.text("#panel-title") == "Consumer 1")


def test_an_outage_is_an_outage_and_ends(stage: PageStage, opened: Opened) -> None:
    stage.shows(group_of(3, 8, at_s=time.time() - 95))
    window = opened()
    window.until(lambda: "Outage: no picture for" in window.text("#banners"))
    assert "restow controller" in window.text("#banners")
    assert window.text("#link") == "outage"
    assert "check" in window.text("#health")
    stage.shows(group_of(3, 8))
    window.until(lambda: window.text("#link") == "live")
    assert window.text("#banners") == ""


def test_the_page_before_the_first_picture_says_why(stage: PageStage, opened: Opened) -> None:
    window = opened()
    window.until(lambda: window.text("#link") == "waiting")
    stage.is_empty()
    window.until(lambda: "has no picture yet" in window.text("#nothing"))
    stage.loses_kafka("broker-1:9092 doesn't answer")
    window.until(lambda: "Broker-1:9092 doesn't answer" in window.text("#nothing"))
    stage.shows(group_of(1, 2))
    shown(window)


def troubled() -> Picture:
    """Everything that can be shown at once: flags, a pause, an unread partition, a lost consumer, an overload."""
    now_s = time.time()
    group = group_of(5, 20)
    names = list(group.partitions)
    places = dict(group.partitions)
    places[names[0]] = replace(places[names[0]], consumer=None)
    places[names[5]] = replace(places[names[5]], moving_to=ConsumerId(2))
    flags = {"too few consumers": RaisedFlag("consumers 1 and 2 are overloaded", as_iso(now_s - 333))}
    paused = Paused(as_iso(now_s + 3600), "ada@lake-1", as_iso(now_s - 60), "<b>the night's import</b>")
    trouble = group_at(
        places, 5, now_s, flags=SortedMapping(flags), paused=paused, waiting_for=("consumer 5 to start",)
    )
    consumers = dict(trouble.consumers)
    consumers[ConsumerId(1)] = replace(consumers[ConsumerId(1)], load_bytes_per_s=2 * CAPACITY)
    consumers[ConsumerId(5)] = replace(consumers[ConsumerId(5)], phase=Phase.LOST)
    return replace(trouble, consumers=SortedMapping(consumers))


@pytest.mark.parametrize("width", [360, 768, 1920])
def test_trouble_is_told_in_words_on_every_width(stage: PageStage, opened: Opened, width: int) -> None:
    stage.shows(troubled())
    window = opened(width=width, color_scheme="dark")
    shown(window)
    assert "consumers 1 and 2 are overloaded" in window.text("#flags")
    assert "Raise [controller] most_consumers" in window.text("#flags")
    banner = window.text("#banners")
    assert "Paused until" in banner
    assert "By ada@lake-1" in banner
    assert "<b>the night's import</b>" in banner  # as text: a reason is what anybody wrote
    assert window.text("#pause") == "Resume…"
    assert "1 without a consumer" in window.text("#figures")
    assert "waits for consumer 5 to start" in window.text("#waits")
    assert "4 of 5 ready, 1 in trouble" in window.text("#health")
    assert window.page.evaluate("document.documentElement.scrollWidth") == width, "the page scrolls sideways"


def test_the_slider_goes_back_and_live_returns(stage: PageStage, opened: Opened) -> None:
    stage.remembers(day_of(5, 8, time.time(), every_s=1200.0))
    stage.shows(group_of(3, 8))
    window = opened()
    shown(window)
    page = window.page
    page.get_by_role("button", name="24 h").click()
    window.until(lambda: "a fixed group of 5" in window.text("#saved"))
    page.locator("#slider").focus()
    page.keyboard.press("Home")
    window.until(lambda: page.locator("#past").is_visible())
    page.keyboard.press("PageUp")
    window.until(lambda: page.locator("body").get_attribute("data-state") == "past")
    assert page.locator("#pause").is_disabled()
    page.locator("#past-live").click()
    shown(window)
    assert page.locator("#live").get_attribute("aria-pressed") == "true"


def test_an_action_needs_the_token_which_is_in_no_address(stage: PageStage, opened: Opened) -> None:
    stage.shows(group_of(1, 2))
    window = opened()
    shown(window)
    page = window.page
    page.locator("#pause").click()
    page.locator("#ask-do").click()
    assert "Enter the token" in window.text("#ask-answer")
    page.locator("#ask-token").fill("a guess")
    page.locator("#ask-do").click()
    window.until(lambda: "the token is missing or wrong" in window.text("#ask-answer"))
    assert page.evaluate("sessionStorage.length") == 0
    window.complaints.clear()  # the browser reports the 401
    second = opened(f"#token={TOKEN}")
    shown(second)
    assert second.page.url == stage.address
    assert second.page.evaluate("sessionStorage.getItem('restow-token')") == TOKEN
    assert second.page.evaluate("JSON.stringify(localStorage) + document.cookie") == "{}"


def test_numbers_are_written_as_the_commands_write_them(stage: PageStage, opened: Opened) -> None:
    window = opened()
    sizes = [0.0, 999.0, 1500.0, 32e6, 1.24e9, 4.2e12]
    shares = [0.0, 0.0003, 0.125, 0.72, 1.04]
    script = """async ([sizes, shares]) => {
      const units = await import("/static/units.js");
      return [sizes.map(units.sized), shares.map(units.percent)];
    }"""
    assert window.page.evaluate(script, [sizes, shares]) == [[*map(sized, sizes)], [*map(percent, shares)]]
    assert stage.address == window.page.url


def test_savings_count_only_what_is_known_and_an_outage_is_no_bridge(stage: PageStage, opened: Opened) -> None:
    window = opened()
    script = """async () => {
      const { savingsOf } = await import("/static/savings.js");
      const { bridged } = await import("/static/gaps.js");
      const hours = [0, 1, 2, 3].map((hour) => hour * 3600e3);
      const tens = [0, 10, 20, 30, 40, 400, 410].map((s) => s * 1000);
      return [savingsOf(hours, [1, 4, null, 1], 4 * 3600e3), bridged([1, null, 2, null, null, 3, null], tens)];
    }"""
    saved, filled = window.page.evaluate(script)
    assert saved == {"hours": 6, "fixedHours": 12, "most": 4, "knownS": 3 * 3600}
    assert filled == [1, 1, 2, None, None, 3, 3]
    assert stage.address == window.page.url


CONTRASTS = """() => {
  const probe = document.body.appendChild(document.createElement("i"));
  const channels = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3).map((text) => Number(text) / 255);
  };
  const light = (name) => channels(name)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
  const pairs = [];
  for (const ground of ["--paper", "--surface"])
    for (const text of ["--ink", "--muted", "--accent", "--warning", "--good"]) pairs.push([text, ground]);
  for (const soft of ["accent", "warning", "info"])
    for (const text of ["--ink", "--muted"]) pairs.push([text, `--${soft}-soft`]);
  for (let topic = 0; topic < 8; topic++) pairs.push(["--on-topic", `--topic-${topic}`]);
  return pairs.map(([text, ground]) => {
    const [low, high] = [light(text), light(ground)].sort((one, other) => one - other);
    return [`${text} on ${ground}`, (high + 0.05) / (low + 0.05)];
  });
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read_in_both_themes(opened: Opened, theme: str) -> None:
    window = opened(color_scheme=theme)
    ratios = window.page.evaluate(CONTRASTS)
    assert len(ratios) == 24
    assert [pair for pair, ratio in ratios if ratio < 4.5] == []
    window.page.locator("#theme").click()  # from auto to light
    assert window.page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"


def test_on_a_phone_the_choice_of_colours_is_beside_the_state(opened: Opened) -> None:
    page = opened(width=360).page
    rows = "['theme', 'link'].map((id) => document.getElementById(id).getBoundingClientRect())"
    overlap = f"{rows}.reduce((one, other) => Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top))"
    assert page.evaluate(overlap) > 0


@pytest.mark.parametrize(
    ("levels", "middle"),
    [
        ([], 20),  # of a slice from 10 to 30
        ([5, 35], 20),
        ([14], 22),
        ([27], 18.5),
        ([17, 23], None),
    ],
)
def test_no_name_is_written_below_a_line(opened: Opened, levels: list[float], middle: float | None) -> None:
    found = "(levels) => import('/static/drawing.js').then((it) => it.nameAt({ x: 0, y: 10, w: 99, h: 20 }, levels))"
    assert opened().page.evaluate(found, levels) == middle


def test_there_are_landmarks_names_and_alternatives(stage: PageStage, opened: Opened) -> None:
    stage.shows(
        with_overview(group_of(3, 8), flags=SortedMapping({"infeasible": RaisedFlag("x", as_iso(time.time()))}))
    )
    window = opened()
    shown(window)
    page = window.page
    assert page.get_by_role("main").count() == page.get_by_role("banner").count() == 1
    nameless = """() => [...document.querySelectorAll("button, input, select, canvas, img, svg")].filter((one) =>
      !one.closest("[hidden], dialog, [aria-hidden=true]") && one.getAttribute("alt") === null &&
      !(one.textContent.trim() || one.getAttribute("aria-label") || one.labels?.length)).map((one) => one.outerHTML)"""
    assert page.evaluate(nameless) == []
    summary = page.locator("#frame-summary").text_content() or ""
    assert summary.startswith("3 consumers, at 72 % of their capacity together; 2.8 s behind")
    assert page.locator("#flags").get_attribute("aria-live") == "polite"
