"""`[event_log]`: how long the controller's event log is kept."""

from dataclasses import dataclass
from typing import Annotated

from restow.settings.checks import ABOVE_0, Check


@dataclass(frozen=True, slots=True)
class EventLog:
    """`[event_log]`: how long the controller's event log is kept, which `restow replay` explains. docs/operations.md
    says how much an hour takes."""

    kept_days: Annotated[float, ABOVE_0] = 14.0
    """Days after which a segment is deleted. A segment has an hour at most."""

    kept_mb: Annotated[int, Check("16 or more", lambda mb: mb >= 16)] = 1000
    """The log's size in MB at which its oldest segments are deleted, even if they are younger. On Kubernetes the claim
    of the log is sized by it."""
