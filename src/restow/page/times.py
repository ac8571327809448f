"""Times that browsers send, as seconds since 1970."""

from datetime import UTC, datetime

from restow.errors import InvalidInput


def utc_s(time: str) -> float:
    """2026-03-01T12:00:09.250Z as seconds since 1970. A time without a zone is UTC. Raises InvalidInput."""
    try:
        found = datetime.fromisoformat(time)
        return (found.replace(tzinfo=UTC) if found.tzinfo is None else found).timestamp()
    except (ValueError, OverflowError):
        raise InvalidInput(f"'{time:.40}' is not a time; write one in UTC, like 2026-03-01T12:00:00Z") from None
