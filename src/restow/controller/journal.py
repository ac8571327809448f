"""Writes the controller's event log: compressed segments of bounded size and age. The controller's process has one.

A segment begins with the controller's whole state, so that each can be replayed alone and the oldest can be deleted.
An event that has effects is in the file before they are carried out, any other event within about a second: that much a
crash can lose. The log explains and no process needs it to run, so nothing waits for the disk (no fsync).

A full disk doesn't stop the controller. `write` logs once that it can't write, counts the events that are not on disk,
and retries with backoff. When there is room a new segment begins, with their number and the state after them, so that a
replay goes on after the gap.
"""

import logging
import os
import time
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from restow.backoff import Backoff, Retries
from restow.controller.effects import Effect
from restow.controller.event_log import EntryWriter, header
from restow.controller.events import ClockTicked, Event
from restow.controller.log_reader import Origin
from restow.controller.segments import GZIP, Segment, segment_name, segments_in
from restow.controller.state import State
from restow.settings import EventLog
from restow.text import counted

log = logging.getLogger(__name__)

SEGMENT_BYTES: Final = 16_000_000
"""Compressed. A replay from some moment on begins at the start of that moment's segment."""
SEGMENTS_KEPT: Final = 8
"""A log that may keep little has shorter segments, so that deleting the oldest loses no more than this share."""
SEGMENT_S: Final = 3600.0
MOST_SEGMENTS: Final = 10_000
"""A controller that is restarted every few seconds begins as many segments; a directory must not have millions."""
FLUSH_EVERY_S: Final = 1.0
RETRY: Final = Backoff(first_s=1.0, longest_s=30.0)
CLOCK_OFF_S: Final = 0.05
"""The wall clock is written again when it differs by more from what the monotonic clock says: it was set, or slewed."""
DAY_S: Final = 86_400.0
MB: Final = 1_000_000


class Journal:
    def __init__(
        self,
        directory: Path,
        kept: EventLog | None = None,
        controller: str = "",
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._directory, self._kept, self._controller = directory, kept or EventLog(), controller
        self._wall_clock = wall_clock
        self._most_bytes = self._kept.kept_mb * MB
        self._segment_bytes = min(SEGMENT_BYTES, self._most_bytes // SEGMENTS_KEPT)
        self._open: _OpenSegment | None = None
        self._continues: int | None = None
        """The number of the last segment, if every event since its start is on disk."""
        self._unwritten = 0
        """Events that are not on disk yet."""
        self._lost = 0
        """Events that never will be, since the last segment."""
        self._retries = Retries(RETRY)
        self._clock: tuple[float, float] | None = None
        """The wall clock that was last written, and the monotonic time at it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open is not None:
            try:
                self._open.finish()
            except OSError:
                self._lose()
        if self._lost:
            log.warning("%s not in the event log %s, which can't be written", _are(self._lost), self._directory)

    def write(self, before: State, event: Event, effects: Iterable[Effect], after: State) -> None:
        """Returns without an error if the disk is full, see above."""
        self._unwritten += 1
        if self._retries.is_waiting(self._directory, after.time_s):
            self._lose()
            return
        missing = self._lost
        try:
            self._write(before, event, tuple(effects), after)
        except OSError as error:
            self._lose()
            if self._retries.failed(self._directory, after.time_s):
                cant = f"the event log {self._directory} can't be written: {error.strerror}"
                log.warning("%s; the controller continues, and counts the events until it can", cant)
        else:
            if self._retries.succeeded(self._directory):
                log.info("the event log is written again; %s not in it", _are(missing))

    def _write(self, before: State, event: Event, effects: tuple[Effect, ...], after: State) -> None:
        segment = self._segment(before)
        segment.append(segment.writer.entry(event, effects, after, self._wall_clock_of(event)))
        if effects or segment.is_due(after.time_s):
            segment.flush(after.time_s)
            self._unwritten = 0

    def _segment(self, before: State) -> "_OpenSegment":
        if self._open is not None and self._open.is_over(before.now_s, self._segment_bytes):
            self._open.finish()
            self._continues, self._open = self._open.number, None
            self._unwritten = 1
        if self._open is None:
            self._open = self._begun(before)
            self._lost = 0
        return self._open

    def _begun(self, state: State) -> "_OpenSegment":
        self._directory.mkdir(parents=True, exist_ok=True)
        segments = segments_in(self._directory)
        self._delete_oldest(segments)
        utc_s = self._utc_s(state)
        self._clock = None if state.now_s is None else (utc_s, state.now_s)
        segment = _created(self._directory, segments[-1].number + 1 if segments else 1, utc_s, state)
        try:
            origin = Origin(utc_s, self._controller, self._continues, self._lost)
            segment.append(header(state, origin))
            segment.flush(state.time_s)
        except OSError:
            segment.discard()
            raise
        return segment

    def _utc_s(self, state: State) -> float:
        """The wall clock at the state's time."""
        if self._clock is None or state.now_s is None:
            return round(self._wall_clock(), 3)
        utc_s, then_s = self._clock
        return round(utc_s + state.now_s - then_s, 3)

    def _wall_clock_of(self, event: Event) -> float | None:
        """The wall clock of a tick, if it can't be derived from the last one that was written."""
        if not isinstance(event, ClockTicked):
            return None
        utc_s = round(self._wall_clock(), 3)
        if self._clock is not None:
            then_utc_s, then_s = self._clock
            if abs(then_utc_s + event.now_s - then_s - utc_s) <= CLOCK_OFF_S:
                return None
        self._clock = (utc_s, event.now_s)
        return utc_s

    def _lose(self) -> None:
        self._continues = None
        self._lost, self._unwritten = self._lost + self._unwritten, 0
        if self._open is not None:
            self._open.cut()
            self._open = None

    def _delete_oldest(self, segments: tuple[Segment, ...]) -> None:
        """Makes room for a whole segment, so that the log is never larger than it may be."""
        files = {segment.path: stat for segment in segments if (stat := _stat(segment.path)) is not None}
        total = sum(stat.st_size for stat in files.values()) + self._segment_bytes
        oldest_s = self._wall_clock() - self._kept.kept_days * DAY_S
        left = len(files)
        for path, stat in files.items():
            if total <= self._most_bytes and stat.st_mtime >= oldest_s and left < MOST_SEGMENTS:
                return
            path.unlink(missing_ok=True)
            total -= stat.st_size
            left -= 1


class _OpenSegment:
    """The file that is being written."""

    def __init__(self, number: int, path: Path, descriptor: int, state: State) -> None:
        self.number, self._path, self._descriptor = number, path, descriptor
        self.writer = EntryWriter(state.stage)
        self._zip = zlib.compressobj(wbits=GZIP)
        self._bytes = self._flushed_bytes = 0
        self._begun_s, self._flushed_s = state.now_s, state.time_s

    def is_over(self, now_s: float | None, most_bytes: int) -> bool:
        if self._begun_s is None:
            self._begun_s = now_s
        is_old = now_s is not None and self._begun_s is not None and now_s - self._begun_s >= SEGMENT_S
        return is_old or self._bytes >= most_bytes

    def is_due(self, now_s: float) -> bool:
        return now_s - self._flushed_s >= FLUSH_EVERY_S

    def append(self, line: str) -> None:
        self._write(self._zip.compress(line.encode()))

    def flush(self, now_s: float) -> None:
        """What was appended can be read from the file."""
        self._write(self._zip.flush(zlib.Z_SYNC_FLUSH))
        self._flushed_s, self._flushed_bytes = now_s, self._bytes

    def finish(self) -> None:
        self._write(self._zip.flush(zlib.Z_FINISH))
        self._close()

    def cut(self) -> None:
        """Ends the file where it was last flushed: what follows counts as lost."""
        with suppress(OSError):
            os.ftruncate(self._descriptor, self._flushed_bytes)
        with suppress(OSError):
            self._close()

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        os.close(descriptor)

    def discard(self) -> None:
        """Removes a segment that has no state to begin with."""
        self.cut()
        with suppress(OSError):
            self._path.unlink()

    def _write(self, content: bytes) -> None:
        left = memoryview(content)
        while left:
            left = left[os.write(self._descriptor, left) :]
        self._bytes += len(content)


def _created(directory: Path, number: int, utc_s: float, state: State) -> _OpenSegment:
    """Creates the file. Another controller may be about to write here too, so the number may be taken."""
    while True:
        path = directory / segment_name(number, utc_s)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        except FileExistsError:
            number += 1
            continue
        return _OpenSegment(number, path, descriptor, state)


def _are(events: int) -> str:
    return f"{counted(events, 'event')} {'is' if events == 1 else 'are'}"


def _stat(path: Path) -> os.stat_result | None:
    """Returns None if another controller has just deleted it."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None
