"""`[log]`: format and level of every process's log."""

from dataclasses import dataclass
from typing import Annotated

from restow.settings.checks import one_of


@dataclass(frozen=True, slots=True)
class Log:
    """`[log]`: the log of every process, on stderr."""

    format: Annotated[str, one_of("text", "json")] = "text"
    """`text` is for people: UTC time, level, role, message. `json` is for log collectors: one object per line, with
    time, level, role, logger and message."""

    level: Annotated[str, one_of("debug", "info", "warning", "error")] = "info"
    """The lowest level that is logged. Libraries log from `warning` on, except Kafka's clients: `debug` shows
    librdkafka's log."""
