"""Follows the controller's event log while it is written.

The demonstration narrates from it, and its course depends on it. Unlike a replay, it runs no machine.
"""

from pathlib import Path

from restow.controller.log_reader import Entry, EntryReader
from restow.controller.segments import Segment, SegmentLines, segments_in


class EventLogTail:
    def __init__(self, log: Path) -> None:
        self._log = log
        self._segment: Segment | None = None
        self._lines: SegmentLines | None = None
        self._reader = EntryReader()

    def read_new(self) -> tuple[Entry, ...]:
        """Entries written since the last call. An incomplete line waits for the next call."""
        found = list(self._of_this_segment())
        while self._goes_to_the_next():
            found += self._of_this_segment()
        return tuple(found)

    def _of_this_segment(self) -> list[Entry]:
        lines = self._lines.read_new() if self._lines is not None else ()
        entries = map(self._reader.read, lines)
        return [entry for entry in entries if entry is not None]

    def _goes_to_the_next(self) -> bool:
        """A segment is complete when the next one exists."""
        segments = segments_in(self._log) if self._log.exists() else ()
        following = next((each for each in segments if self._segment is None or each > self._segment), None)
        if following is None:
            return False
        self._segment, self._lines, self._reader = following, SegmentLines(following.path), EntryReader()
        return True
