"""Writes the controller's event log to a file, with rotation. The controller's process has one.

The previous file is kept as NAME.1, and none before that. Each begins with the controller's whole state, so that it can
be replayed alone.
"""

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TextIO

from restow.controller.effects import Effect
from restow.controller.event_log import entry, header
from restow.controller.events import Event
from restow.controller.state import State

LONGEST_BYTES: Final = 64 << 20


class Journal:
    def __init__(self, file: Path, longest_bytes: int = LONGEST_BYTES) -> None:
        self._path, self._longest = file, longest_bytes
        self._file: TextIO | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, before: State, event: Event, effects: Iterable[Effect], after: State) -> None:
        if self._file is None or self._file.tell() >= self._longest:
            self._file = self._rotated(before)
        self._file.write(entry(event, effects, after))
        self._file.flush()

    def _rotated(self, state: State) -> TextIO:
        if self._file is not None:
            self._file.close()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if self._path.exists():
            self._path.replace(self._path.with_name(f"{self._path.name}.1"))
        file = self._path.open("w", encoding="utf-8")
        file.write(header(state))
        return file
