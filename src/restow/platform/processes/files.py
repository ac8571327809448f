"""A consumer's place on disk: its volume, and beside it what its keeper and the controllers tell each other.

    DIRECTORY/GROUP-consumer-N/               the volume, with the log in it
    DIRECTORY/run/GROUP/GROUP-consumer-N/     its home: wish.json (controllers write), status.json (its keeper writes)

The home is not in the volume: a volume that is lost must not hide a running process.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from restow.platform.processes.disk import read, replace_whole
from restow.platform.processes.linux import Process

MARK: Final = "RESTOW_HOME"
"""The variable that marks all processes of a consumer; its value is the path of the consumer's home."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to become of a consumer. Written by controllers."""

    made: str
    """Differs between two consumers that had the same number one after the other."""
    wanted: bool
    generation: int
    """Grows with every restart that is wished for."""
    command: tuple[str, ...]
    directory: str
    """Where it is started."""
    volume: str
    grace_s: float
    memory_mb: int | None = None
    cores: float | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    """Besides that of its keeper."""
    settings: str | None = None
    """The fingerprint of what it is started with, for controllers: whether that is still what is wanted."""

    def __repr__(self) -> str:
        return f"Wish(wanted={self.wanted}, generation={self.generation})"


@dataclass(frozen=True, slots=True)
class Status:
    """What has become of it. Written by its keeper."""

    keeper: Process
    child: Process | None = None
    """The consumer's own process, while it runs."""
    falls: int = 0
    """How often in a row it ended without being told to."""
    reason: str = ""
    """Of the last fall."""


@dataclass(frozen=True, slots=True)
class Home:
    """Where both are kept. Its name is the consumer's."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    def wish(self) -> Wish | None:
        return read(self.path / "wish.json", _wish)

    def set_wish(self, wish: Wish) -> None:
        replace_whole(self.path / "wish.json", asdict(wish))

    def status(self) -> Status | None:
        return read(self.path / "status.json", _status)

    def set_status(self, status: Status) -> None:
        replace_whole(self.path / "status.json", asdict(status))


def _wish(written: dict[str, Any]) -> Wish:
    return Wish(**{**written, "command": tuple(written["command"])})


def _status(written: dict[str, Any]) -> Status:
    child = written["child"]
    return Status(**{**written, "keeper": Process(*written["keeper"]), "child": Process(*child) if child else None})
