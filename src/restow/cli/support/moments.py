"""Times in options: 03:00, 2026-11-17T03:00Z. All are UTC."""

import argparse
import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Final

from restow.clock import as_iso

DAY: Final = timedelta(days=1)
TIME_OF_DAY: Final = re.compile(r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?Z?")


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time, or a time of day whose day follows from what it is applied to."""

    at: datetime | time

    def last_before(self, end: datetime) -> datetime:
        """For a time of day: the last occurrence that is not after `end`."""
        if isinstance(self.at, datetime):
            return self.at
        found = datetime.combine(end.date(), self.at, UTC)
        return found if found <= end else found - DAY

    def first_after(self, begin: datetime) -> datetime:
        """For a time of day: the first occurrence that is not before `begin`."""
        if isinstance(self.at, datetime):
            return self.at
        found = datetime.combine(begin.date(), self.at, UTC)
        return found if found >= begin else found + DAY


def moment(text: str) -> Moment:
    """For argparse's `type=`."""
    try:
        if TIME_OF_DAY.fullmatch(text):
            return Moment(time.fromisoformat(text.removesuffix("Z")))
        found = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"'{text}' can't be used; it must be a time in UTC, like 03:00, 03:00:30 or 2026-11-17T03:00"
        ) from None
    return Moment(found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC))


def shown(utc_s: float) -> str:
    """2026-11-17 03:00:01.250"""
    return as_iso(utc_s).replace("T", " ").removesuffix("Z")
