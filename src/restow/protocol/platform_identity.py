"""Names the platform of a controller or a consumer, so that two platforms with one group are noticed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlatformIdentity:
    """Where consumers run: a machine and a directory on it, or a cluster and a namespace in it."""

    id: str
    """Differs between any two platforms."""
    name: str
    """The same in words, for people: `host-a:/srv/lake/restow-data`."""
