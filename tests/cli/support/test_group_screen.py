"""The screen of `restow status` and `restow top`."""

from datetime import UTC, datetime
from io import StringIO

import pytest
from rich.console import Console
from tests.support.controller_driver import A0, A1, A2
from tests.support.picture_driver import PictureDriver, pair

from restow.cli.support.group_screen import ALL, lines_beside_consumers, screen
from restow.cli.support.scroll import Scroll
from restow.model import Retention
from restow.picture.picture import Lag, Picture


def growing() -> PictureDriver:
    """Consumer 3 was opened at 12:00:05, is ready since 12:00:07 and waits for a-1 at 12:00:08."""
    driver = pair()
    driver.ticks(5)
    driver.measures(a_0=60, a_1=40, a_2=40, a_3=40)
    driver.ticks(2)
    driver.is_ready(3)
    driver.ticks(1)
    driver.reports(1, records_per_s=10.0, bytes_per_s=95.0)
    return driver


def drawn(picture: Picture, at: str = "12:00:12", width: int = 120, shown: slice = ALL) -> list[str]:
    now = datetime.fromisoformat(f"2026-03-01T{at}").replace(tzinfo=UTC)
    file = StringIO()
    Console(file=file, width=width, markup=False, emoji=False, highlight=False).print(screen(picture, now, shown))
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_it_shows_load_lag_waits_and_the_last_decision() -> None:
    lines = drawn(growing().picture({A0: Lag(1200, 4.2), A1: Lag(0, 0.0), A2: Lag(3, None)}))
    assert lines[0] == ("group shop  3 of 3 consumers ready  4 partitions  load 180 B/s of 300 B/s  lag 1,203 (4.2 s)")
    assert lines[1] == "controller host-7: Manage for 7.0 s, speeds 3.0 s old, picture 4.0 s old"
    [first] = [line for line in lines if line.strip().startswith("1   ready")]
    assert first.split() == ["1", "ready", "█" * 24, "100", "%", "2", "1,200", "(4.2", "s)", "95", "B/s", "0.5", "s"]
    assert "3 (age unknown)" in "\n".join(lines)
    assert lines[lines.index("waiting for") + 1] == "  consumer 1 to stop a-1 (for 1 s)"
    [decided] = [line for line in lines if line.startswith("last decision")]
    assert decided == "last decision, 7.0 s ago: 2 -> 3 consumers, 1 move of 0.4 capacities"
    assert "  because a consumer's load is above the trigger" in lines


def test_an_old_picture_is_an_outage_with_its_age() -> None:
    picture = growing().picture()
    assert not any("OUTAGE" in line for line in drawn(picture, "12:00:38"))
    [outage] = [line for line in drawn(picture, "12:05:12", width=200) if "OUTAGE" in line]
    assert outage.startswith("OUTAGE: no picture for 5 min 4 s; what follows is as of 12:00:08 UTC.")


def test_flags_are_on_top_with_their_age() -> None:
    driver = pair()
    driver.waits(40, measured=False)
    lines = drawn(driver.picture(), "12:00:41")
    assert lines[2].startswith("! stale speeds for 9.0 s: no speeds for more than 30 s")


def test_a_group_without_consumers_and_decisions() -> None:
    driver = PictureDriver()
    driver.takes_over()
    lines = drawn(driver.picture(), "12:00:01")
    assert lines[0] == "group shop  0 of 0 consumers ready  0 partitions  load 0 B/s of 0 B/s  lag unknown"
    assert lines[-1] == "no decision since this controller began"


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_longer_than_the_screen(width: int) -> None:
    assert max(len(line) for line in drawn(growing().picture(), width=width)) <= width


def test_it_has_as_many_lines_as_it_says() -> None:
    picture = growing().picture()
    lines = drawn(picture, width=400)
    assert len(lines) <= lines_beside_consumers(picture) + len(picture.consumers)


def test_only_the_consumers_that_fit_are_shown() -> None:
    lines = drawn(growing().picture(), shown=slice(1, 2))
    assert [line.split()[0] for line in lines if " ready " in line and "group" not in line] == ["2"]
    assert "1 of 3 consumers shown" in "\n".join(lines)


def test_scrolling_stays_within_the_list() -> None:
    scroll = Scroll()
    assert scroll.moved(None, rows=300, room=20)
    assert scroll.shown == slice(0, 20)
    assert not scroll.moved("up", rows=300, room=20)
    assert scroll.moved("page down", rows=300, room=20)
    assert scroll.shown == slice(19, 39)
    assert scroll.moved("end", rows=300, room=20)
    assert scroll.shown == slice(280, 300)
    assert not scroll.moved("down", rows=300, room=20)
    assert scroll.moved(None, rows=10, room=20), "the group shrank"
    assert scroll.shown == slice(0, 20)
    assert scroll.moved(None, rows=10, room=1), "the screen shrank"
    assert scroll.shown == slice(0, 3)


def test_the_partitions_that_are_furthest_behind_are_named() -> None:
    driver = growing()
    lags = {A0: Lag(1200, 240.0), A1: Lag(9, 59.0), A2: Lag(70, 7200.0, "record timestamp")}
    picture = driver.picture(lags, {"a": Retention(86400.0)})
    lines = drawn(picture)
    at = lines.index("furthest behind")
    assert lines[at + 1 : at + 3] == [
        "  a-2 70 (2 h 0 min), by its timestamp, consumer 2, does not shrink, kept for 22 h 0 min more",
        "  a-0 1,200 (4 min 0 s), consumer 1, does not shrink, kept for 23 h 56 min more",
    ]
    assert lines_beside_consumers(picture) == lines_beside_consumers(driver.picture()) + 3
