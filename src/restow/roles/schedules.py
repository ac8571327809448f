"""Resolves the time zones of `[[schedule]]` and plans its windows, for the controller's machine."""

from collections.abc import Sequence
from datetime import datetime, tzinfo
from functools import partial
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from restow.controller.events import SchedulePlanned
from restow.controller.schedules import planned
from restow.errors import InvalidInput
from restow.settings import Schedule

PLAN_EVERY_S: Final = 3600.0


def zone_of(schedule: Schedule) -> tzinfo:
    """Raises InvalidInput if this machine does not know the zone."""
    try:
        return ZoneInfo(schedule.zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput(
            f'[[schedule]] zone = "{schedule.zone}" can\'t be used; it must be a time zone that this machine knows, '
            "like Europe/Berlin (the package tzdata has them)"
        ) from None


def check_zones(schedules: Sequence[Schedule], file: str) -> None:
    """Raises InvalidInput, with the file, if this machine does not know a zone."""
    for schedule in schedules:
        try:
            zone_of(schedule)
        except InvalidInput as error:
            raise InvalidInput(f"{file}: {error}") from None


class Schedules:
    def __init__(self, schedules: Sequence[Schedule]) -> None:
        self._schedules = schedules
        self._offsets = [partial(_offset_s, zone_of(schedule)) for schedule in schedules]
        self._planned_s: float | None = None

    def due(self, utc_s: float) -> SchedulePlanned | None:
        """The windows, if it is time to plan them: at the start, every hour, and when the wall clock was set."""
        if not self._schedules:
            return None
        if self._planned_s is not None and 0 <= utc_s - self._planned_s < PLAN_EVERY_S:
            return None
        self._planned_s = utc_s
        return planned(self._schedules, self._offsets, utc_s)


def _offset_s(zone: tzinfo, utc_s: float) -> float:
    offset = datetime.fromtimestamp(utc_s, zone).utcoffset()
    return 0.0 if offset is None else offset.total_seconds()
