"""Replays the segments of an event log one after the other, as one history. `restow replay` prints it.

A segment that continues another one must begin with the state to which the other one led. A segment that is cut off or
damaged doesn't keep the others from being read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from restow.controller.event_log import Replay, Step
from restow.controller.journal import SEGMENT_S
from restow.controller.log_reader import EntryReader, Header
from restow.controller.segments import Segment, SegmentLines, segment_at
from restow.controller.state import State
from restow.errors import InvalidInput
from restow.text import counted

WRITTEN_WITHIN_S: Final = 1.0
"""The time in a segment's name is in whole seconds."""
MOST_AT_ONCE: Final = 8
"""A segment continues one of this many before it, unless more controllers write at once."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark on a whole segment, in place of steps or beside them."""

    file: Path
    words: str
    utc_s: float | None
    is_wrong: bool = False
    """Whether steps are missing or differ that a crash does not explain."""


class History:
    """One replay of some segments. They need not be all of a log, as each can be replayed alone."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = files
        self._ends: dict[int, State] = {}
        """The state to which each of the last segments led, by its number. Two controllers may have written at once."""

    def steps(self) -> Iterator[Step | Remark]:
        """Raises OSError; and InvalidInput if there is one file, and it is no event log."""
        for file in self._files:
            try:
                yield from self._steps_of(file)
            except InvalidInput as error:
                if len(self._files) == 1:
                    raise
                yield Remark(file, f"{error}; the rest of this segment is left out", None, is_wrong=True)
            except FileNotFoundError:
                if len(self._files) == 1:
                    raise
                yield Remark(file, "it was deleted meanwhile, because the log has reached its limit", None)

    def _steps_of(self, file: Path) -> Iterator[Step | Remark]:
        replay, lines = Replay(), SegmentLines(file)
        for line in lines.read_new():
            is_first = replay.header is None
            step = replay.step(line)
            if is_first and replay.header is not None:
                yield from self._begun(file, replay.header)
            if step is not None:
                yield step
        if replay.header is None and len(self._files) == 1:
            replay.step(lines.rest)  # raises, unless the header alone is there
        elif replay.header is None:
            yield Remark(file, "it has no whole line, as after a crash", None)
        elif lines.is_cut_off:
            yield Remark(file, "its end is cut off, as by a crash; all lines before that are read", None)
        elif (segment := segment_at(file)) is not None and replay.state is not None:
            self._ends[segment.number] = replay.state
            self._ends.pop(segment.number - MOST_AT_ONCE, None)

    def _begun(self, file: Path, header: Header) -> Iterator[Remark]:
        if (origin := header.origin) is None:
            return
        end = None if origin.continues is None else self._ends.pop(origin.continues, None)
        if origin.lost:
            words = f"{counted(origin.lost, 'event')} before this could not be written by controller"
            yield Remark(file, f"{words} {origin.controller}", origin.utc_s)
        elif origin.continues is None:
            yield Remark(file, f"controller {origin.controller} begins", origin.utc_s)
        elif end is not None and end != header.state:
            words = f"this does not begin with the state to which segment {origin.continues} led"
            yield Remark(file, words, origin.utc_s, is_wrong=True)


def overlapping(segments: Sequence[Segment], from_s: float, to_s: float) -> tuple[Segment, ...]:
    """Segments that may have events between the two moments."""
    following = [*(segment.begun_s for segment in segments[1:]), float("inf")]
    return tuple(
        segment
        for segment, next_begun_s in zip(segments, following, strict=True)
        if segment.begun_s - WRITTEN_WITHIN_S <= to_s
        and from_s <= max(next_begun_s, segment.begun_s + SEGMENT_S) + WRITTEN_WITHIN_S
    )


def last_utc_s(files: Sequence[Path]) -> float | None:
    """The wall clock of the last event; None if they have no wall clock. Raises OSError."""
    return next((found for file in reversed(files) if (found := _last_utc_s_in(file)) is not None), None)


def _last_utc_s_in(file: Path) -> float | None:
    reader, found = EntryReader(), None
    try:
        for line in SegmentLines(file).read_new():
            entry = reader.read(line)
            found = entry.utc_s if entry is not None else _begun_s(reader)
    except InvalidInput:
        pass  # the replay reports it
    return found


def _begun_s(reader: EntryReader) -> float | None:
    return reader.header.origin.utc_s if reader.header is not None and reader.header.origin is not None else None
