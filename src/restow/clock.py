"""The wall clock as restow writes it: UTC, ISO 8601, milliseconds. Pure machines get it as text."""

from datetime import UTC, datetime


def utc_now() -> str:
    """2026-11-17T03:00:01.250Z"""
    return utc_text(datetime.now(UTC))


def utc_text(moment: datetime) -> str:
    """For a time in UTC."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
