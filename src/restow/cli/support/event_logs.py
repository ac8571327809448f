"""Finds a controller's event log and the part of it between two times, for `restow replay` and `restow backtest`."""

import argparse
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from restow.cli.support.config import settings_of
from restow.cli.support.moments import Moment
from restow.clock import as_iso
from restow.errors import InvalidInput


class Window(NamedTuple):
    """The moments between which steps count, in seconds since 1970."""

    from_s: float = -math.inf
    to_s: float = math.inf

    def has(self, utc_s: float | None) -> bool:
        return utc_s is None or self.from_s <= utc_s <= self.to_s


EVERYTHING = Window()


def log_of_the_group(args: argparse.Namespace) -> Path:
    from restow.cli.controller import default_log

    return default_log(settings_of(args))


@contextmanager
def reading(log: Path) -> Iterator[None]:
    """Names the log in the errors of what reads it."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"{log}: {error}") from None
    except OSError as error:
        raise InvalidInput(
            f"{log}: can't be read ({(error.strerror or 'unknown').lower()}); it must be an event log"
        ) from None


def chosen_files(log: Path, begin: Moment | None, end: Moment | None) -> tuple[Sequence[Path], Window]:
    from restow.controller.history import last_utc_s, overlapping
    from restow.controller.segments import segments_in

    segments = segments_in(log) if log.is_dir() else ()
    files = [segment.path for segment in segments] if log.is_dir() else [log]
    if not files:
        raise InvalidInput("there is no segment of an event log in it; they are called events-….jsonl.gz")
    if begin is None and end is None:
        return files, EVERYTHING
    last_s = last_utc_s(files)
    if last_s is None:
        raise InvalidInput("it has no wall clock times, which logs have since version 4; leave out --from and --to")
    window = _window(begin, end, datetime.fromtimestamp(last_s, UTC))
    return [segment.path for segment in overlapping(segments, *window)] if segments else files, window


def _window(begin: Moment | None, end: Moment | None, last: datetime) -> Window:
    """A time of day is the last one in the log; the end's is the first one after the beginning's."""
    from_s = begin.last_before(last).timestamp() if begin is not None else -math.inf
    if end is None:
        return Window(from_s)
    if begin is None:
        return Window(from_s, end.last_before(last).timestamp())
    to_s = end.first_after(begin.last_before(last)).timestamp()
    if to_s < from_s:
        raise InvalidInput(f"--to {as_iso(to_s)} is before --from {as_iso(from_s)}; it must be later")
    return Window(from_s, to_s)
