"""A consumer's directories on disk: its volume, and beside it the files by which controller and supervisor communicate.

    DIRECTORY/GROUP-consumer-N/               the volume, with the log in it
    DIRECTORY/run/GROUP/GROUP-consumer-N/     the home: wish.json (controller writes), status.json (supervisor writes)

The home is outside the volume, so that a lost volume can't hide a running process.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from restow.durable import remove, write_atomically
from restow.platform.processes.linux import Process

MARK: Final = "RESTOW_HOME"
"""The variable that marks all processes of a consumer; its value is the path of the consumer's home."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DesiredState:
    """What a consumer should be doing, in wish.json. Controllers write it."""

    creation: str
    """Differs between two consumers that have the same number one after the other."""
    wanted: bool
    generation: int
    """Grows by one with each requested restart."""
    command: tuple[str, ...]
    directory: str
    """The working directory it is started in."""
    volume: str
    grace_s: float
    memory_mb: int | None = None
    cores: float | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    """Added to the supervisor's own."""
    settings: str | None = None
    """Fingerprint of the settings it is started with, by which a controller sees whether they are current."""

    def __repr__(self) -> str:
        return f"DesiredState(wanted={self.wanted}, generation={self.generation})"  # the environment has secrets


@dataclass(frozen=True, slots=True)
class Status:
    """What a consumer is doing, in status.json. Its supervisor writes it."""

    supervisor: Process
    child: Process | None = None
    """The consumer's own process, while it runs."""
    crashes: int = 0
    """How often in a row it ended without being asked to."""
    reason: str = ""
    """Of the last crash."""
    ended: int = 0
    """How often it ended without being asked to since this supervisor began."""


@dataclass(frozen=True, slots=True)
class Home:
    """The directory of both files. Its name is the consumer's."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    def desired(self) -> DesiredState | None:
        return read_json(self.path / "wish.json", _desired)

    def set_desired(self, desired: DesiredState) -> None:
        content = asdict(desired)
        write_json(self.path / "wish.json", {"made": content.pop("creation"), **content})

    def forget_desired(self) -> None:
        """Takes no space. The consumer is no longer wanted."""
        remove(self.path / "wish.json")

    def status(self) -> Status | None:
        return read_json(self.path / "status.json", _status)

    def set_status(self, status: Status) -> None:
        content = {
            "keeper": status.supervisor,
            "child": status.child,
            "falls": status.crashes,
            "reason": status.reason,
            "ended": status.ended,
        }
        write_json(self.path / "status.json", content)


def _desired(content: dict[str, Any]) -> DesiredState:
    return DesiredState(creation=content.pop("made"), **{**content, "command": tuple(content["command"])})


def _status(content: dict[str, Any]) -> Status:
    """Supervisors of older versions count no `ended`."""
    child = Process(*content["child"]) if content["child"] else None
    return Status(Process(*content["keeper"]), child, content["falls"], content["reason"], content.get("ended", 0))


def read_json(file: Path, make: Callable[[dict[str, Any]], T]) -> T | None:
    """Returns None if the file is missing or damaged, for example edited by hand."""
    try:
        return make(json.loads(file.read_bytes()))
    except (FileNotFoundError, ValueError, TypeError, KeyError, AttributeError):
        return None


def write_json(file: Path, content: dict[str, Any]) -> None:
    write_atomically(file, json.dumps(content).encode())
