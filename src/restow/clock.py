"""The wall clock as restow writes it: UTC, ISO 8601, milliseconds. Pure machines get it as text."""

from datetime import UTC, datetime


def utc_now() -> str:
    """2026-11-17T03:00:01.250Z"""
    return utc_text(datetime.now(UTC))


def as_iso(utc_s: float) -> str:
    """For seconds since 1970."""
    return utc_text(datetime.fromtimestamp(utc_s, UTC))


def utc_text(moment: datetime) -> str:
    """For a time in UTC."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
