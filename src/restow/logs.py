"""Logging of a process: one line an event, the same form in every role, as text or as JSON.

    2026-11-16T06:57:09.514Z INFO    consumer-1  stored 1,000 records in 1 cycle

The command line calls `configure` once; every other module has `log = logging.getLogger(__name__)` and nothing more.
Lines go to stderr, where systemd, Kubernetes and the process platform collect them. Libraries' warnings come out in the
same form; the pure machines log nothing.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, Final

from restow.settings import Log

LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def configure(role: str, settings: Log) -> None:
    """From now on this process logs as `role`: "monitor", "controller", "consumer-3"."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter(role) if settings.format == "json" else TextFormatter(role))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("restow").setLevel(LEVELS[settings.level])
    logging.captureWarnings(True)


class TextFormatter(logging.Formatter):
    def __init__(self, role: str) -> None:
        super().__init__()
        self._role = role

    def format(self, record: logging.LogRecord) -> str:
        return f"{_time(record)} {record.levelname:<7} {self._role}  {_words(self, record)}"


class JsonFormatter(logging.Formatter):
    def __init__(self, role: str) -> None:
        super().__init__()
        self._role = role

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname,
            "role": self._role,
            "logger": record.name,
            "message": _words(self, record),
        }
        return json.dumps(line, ensure_ascii=False)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _words(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    words = record.getMessage()
    return f"{words}\n{formatter.formatException(record.exc_info)}" if record.exc_info else words
