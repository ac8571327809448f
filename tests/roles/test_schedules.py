"""Schedules at the edge: zones are resolved, and windows planned again every hour and when the clock is set."""

import pytest

from restow.errors import InvalidInput
from restow.roles.schedules import Schedules, check_zones
from restow.settings import Schedule

NIGHTS = Schedule("0 22 * * *", "8h", "Europe/Berlin", least=1)
WINTER_S = 1_772_366_400.0
"""2026-03-01T12:00:00Z"""
SUMMER_S = 1_782_907_200.0
"""2026-07-01T12:00:00Z"""


def test_windows_begin_in_local_time() -> None:
    for noon_s, hours in ((WINTER_S, 9), (SUMMER_S, 8)):
        planned = Schedules([NIGHTS]).due(noon_s)
        assert planned is not None
        assert noon_s + hours * 3600 in [window.begin_s for window in planned.windows]


def test_windows_are_planned_every_hour_and_when_the_clock_is_set() -> None:
    schedules = Schedules([NIGHTS])
    asked_s = (0, 1, 3599, 3600, 3601, 3000, 3001)
    assert [schedules.due(WINTER_S + after_s) is not None for after_s in asked_s] == [
        *(True, False, False),
        *(True, False),
        *(True, False),
    ]


def test_without_schedules_there_is_nothing_to_plan() -> None:
    assert Schedules(()).due(WINTER_S) is None


@pytest.mark.parametrize("zone", ["Europe/Nowhere", "../etc/passwd", "Mars"])
def test_an_unknown_zone_is_refused_with_what_would_be_right(zone: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_zones([Schedule("0 22 * * *", "8h", zone)], "restow.toml")
    assert str(caught.value).startswith(
        f'restow.toml: [[schedule]] zone = "{zone}" can\'t be used; it must be a time zone'
    )
