"""Cron expressions and durations, compared with the calendar of the standard library."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from restow.errors import InvalidInput
from restow.settings.cron import Cron, begins, civil, duration_s

BERLIN = ZoneInfo("Europe/Berlin")
MARCH = datetime(2026, 3, 1, tzinfo=UTC)


def berlin(utc_s: float) -> float:
    offset = datetime.fromtimestamp(utc_s, BERLIN).utcoffset()
    assert offset is not None
    return offset.total_seconds()


def found(text: str, begin: datetime, days: int, zone: object = None) -> list[str]:
    begin_s = begin.timestamp()
    offset = berlin if zone is not None else lambda _: 0.0
    times = begins(Cron.parse(text), offset, begin_s, begin_s + days * 86_400)
    return [datetime.fromtimestamp(time_s, UTC).strftime("%m-%d %H:%M") for time_s in times]


def test_civil_dates_are_those_of_the_calendar() -> None:
    first = date(1969, 12, 1)
    for days in range(0, 200_000, 37):
        day = first + timedelta(days=days)
        assert civil((day - date(1970, 1, 1)).days) == (day.year, day.month, day.day)


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("0 22 * * *", ["03-01 22:00", "03-02 22:00", "03-03 22:00"]),
        ("*/20 8 2 * *", ["03-02 08:00", "03-02 08:20", "03-02 08:40"]),
        ("30 6,18 * mar sun", ["03-01 06:30", "03-01 18:30"]),
        ("0 0 * * 7", ["03-01 00:00"]),
        ("0 0 * * 0", ["03-01 00:00"]),
        ("0 12 3 * mon", ["03-02 12:00", "03-03 12:00"]),
        ("0 0 * apr *", []),
        ("5-15/5 0 1 3 *", ["03-01 00:05", "03-01 00:10", "03-01 00:15"]),
        ("0 9 * * mon-wed", ["03-02 09:00", "03-03 09:00"]),
    ],
)
def test_the_times_of_an_expression(text: str, times: list[str]) -> None:
    assert found(text, MARCH, 3) == times


def test_the_last_day_of_a_month() -> None:
    assert found("0 0 L * *", datetime(2028, 1, 1, tzinfo=UTC), 100) == ["01-31 00:00", "02-29 00:00", "03-31 00:00"]


def test_local_time_follows_the_zone() -> None:
    assert found("0 22 * * *", MARCH, 2, BERLIN) == ["03-01 21:00", "03-02 21:00"]
    summer = datetime(2026, 7, 1, tzinfo=UTC)
    assert found("0 22 * * *", summer, 1, BERLIN) == ["07-01 20:00"]


def test_a_time_that_the_clock_skips_does_not_occur_and_one_that_it_repeats_occurs_twice() -> None:
    assert found("30 2 * * *", datetime(2026, 3, 28, 12, tzinfo=UTC), 2, BERLIN) == ["03-30 00:30"]
    assert found("30 2 * * *", datetime(2026, 10, 24, 12, tzinfo=UTC), 1, BERLIN) == ["10-25 00:30", "10-25 01:30"]


@pytest.mark.parametrize(
    "text", ["", "0 22 * *", "0 22 * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8"]
)
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        Cron.parse(text)


@pytest.mark.parametrize("text", ["x * * * *", "5-1 * * * *", "*/0 * * * *", "*/x * * * *", "1, * * * *", "l * * * *"])
def test_what_is_no_field_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        Cron.parse(text)


def test_durations() -> None:
    assert [duration_s(text) for text in ("8h", "90m", "1d12h", "31d")] == [28_800, 5400, 129_600, 2_678_400]
    for text in ("", "8", "8 h", "h", "32d", "0m", "-1h", "1.5h"):
        with pytest.raises(InvalidInput):
            duration_s(text)
