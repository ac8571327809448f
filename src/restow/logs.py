"""Logging of a process: one line an event, the same form in every role, as text or as JSON.

    2026-11-16T06:57:09.514Z INFO    consumer-1  stored 1,000 records in 1 cycle
    2026-11-16T06:57:11.020Z WARNING controller  no speeds for more than 30 s; nothing is scaled until they come

A long-running command calls `configure` once; any other command logs to the person at its terminal (`to_terminal`).
Every other module has `log = logging.getLogger(__name__)` and nothing more. Lines go to stderr, where systemd,
Kubernetes and the process platform collect them. Libraries' warnings come out in the same form; the pure machines log
nothing. `restow up` shows the lines of several processes, in colour on a terminal (`painted`).
"""

import json
import logging
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final

from restow.clock import utc_text
from restow.durable import LineWriter
from restow.settings import Log
from restow.text import counted

LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
ROLE_WIDTH: Final = len("controller")
"""Aligns the words of all roles, for consumers up to number 9."""

LINE: Final = re.compile(r"(\S+Z) (DEBUG|INFO|WARNING|ERROR|CRITICAL)( +)(\S+)( .*)", re.DOTALL)
"""A line of `TextFormatter`: time, level, role, words."""

# Of ANSI terminals. The 16 basic colours follow the terminal's own theme, dark or light.
FAINT, PLAIN = "\x1b[2m", "\x1b[0m"
LEVEL_COLOURS: Final = {"WARNING": "\x1b[33m", "ERROR": "\x1b[31m", "CRITICAL": "\x1b[31m"}
ROLE_COLOURS: Final = {"monitor": "\x1b[36m", "controller": "\x1b[35m", "page": "\x1b[34m"}
OTHER_ROLE: Final = "\x1b[1m"

log = logging.getLogger("restow")


def configure(role: str, settings: Log, *, in_colour: bool = False) -> None:
    """Logs as `role` ("monitor", "controller", "consumer-3") until the process ends, uncaught exceptions included."""
    text = PaintedFormatter(role) if in_colour else TextFormatter(role)
    _use(JsonFormatter(role) if settings.format == "json" else text, LEVELS[settings.level])
    logging.captureWarnings(True)
    sys.excepthook = _log_uncaught
    threading.excepthook = lambda uncaught: _log_uncaught(
        uncaught.exc_type, uncaught.exc_value or uncaught.exc_type(), uncaught.exc_traceback
    )


@contextmanager
def to_terminal() -> Iterator[None]:
    """Logs as `restow: words`, until `configure` is called. Then restores the logging there was before, for callers
    that run several commands in one process. After an exception it doesn't: the process has yet to log it."""
    root, ours = logging.getLogger(), logging.getLogger("restow")
    before = root.handlers[:], root.level, ours.level
    _use(TerminalFormatter(), logging.INFO)
    yield
    root.handlers[:], root.level, ours.level = before


class StderrHandler(logging.Handler):
    """Writes to what `sys.stderr` is at that moment. Lines that a full disk doesn't take are counted; their number is
    logged before the first line that it takes again."""

    def __init__(self) -> None:
        super().__init__()
        self._lines = LineWriter()
        self._lost = 0

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if self._lost:
                self._write(self.format(_gap(self._lost)))
                self._lost = 0
            self._write(self.format(record))
        except OSError:
            self._lost += 1
        except Exception:  # noqa: BLE001  as logging's own handlers do
            self.handleError(record)

    def _write(self, line: str) -> None:
        is_file = sys.stderr is sys.__stderr__
        sys.stderr.flush()
        if is_file:  # unbuffered, so that each line is in the file, or known to be lost
            self._lines.append(sys.stderr.fileno(), line)
        else:
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()


class TerminalFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"{record.name.partition('.')[0]}: {_words(self, record)}"


class TextFormatter(logging.Formatter):
    def __init__(self, role: str) -> None:
        super().__init__()
        self._role = role

    def format(self, record: logging.LogRecord) -> str:
        return f"{_time(record)} {record.levelname:<7} {self._role:<{ROLE_WIDTH}}  {_words(self, record)}"


class PaintedFormatter(TextFormatter):
    def format(self, record: logging.LogRecord) -> str:
        return painted(super().format(record))


def painted(line: str) -> str:
    """A line of `TextFormatter` with its role in colour, and its level from WARNING on. Others stay as they are."""
    found = LINE.fullmatch(line)
    if found is None:
        return line
    time, level, gap, role, words = found.groups()
    level = f"{LEVEL_COLOURS[level]}{level}{PLAIN}" if level in LEVEL_COLOURS else level
    return f"{FAINT}{time}{PLAIN} {level}{gap}{ROLE_COLOURS.get(role, OTHER_ROLE)}{role}{PLAIN}{words}"


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


def _use(formatter: logging.Formatter, level: int) -> None:
    handler = StderrHandler()
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [*(other for other in root.handlers if not isinstance(other, StderrHandler)), handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("restow").setLevel(level)


def _gap(lost: int) -> logging.LogRecord:
    words = f"{counted(lost, 'log line')} before this one could not be written; was the disk full?"
    return logging.LogRecord(__name__, logging.WARNING, __file__, 0, words, None, None)


def _log_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    log.critical("ended by an unexpected error", exc_info=(kind, error, trace))


def _time(record: logging.LogRecord) -> str:
    return utc_text(datetime.fromtimestamp(record.created, UTC))


def _words(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    words = record.getMessage()
    return f"{words}\n{formatter.formatException(record.exc_info)}" if record.exc_info else words
