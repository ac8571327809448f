"""A consumer's own directory: what it keeps for the process after it, and the lock that makes it one process's.

The state is written beside the old one, synced, and put in its place, so that a crash leaves the one or the other. What
can't be read, or is another consumer's, is set aside: then the tables alone say where to go on.
"""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from restow.consumer.saved import Saved
from restow.errors import InvalidInput, RestowError
from restow.model import ConsumerId
from restow.protocol.codec import from_plain, to_plain
from restow.protocol.json_text import as_json, parse_json

VERSION: Final = 1
STATE: Final = "state.json"
SET_ASIDE: Final = "state.json.set-aside"
LOCK: Final = "lock"


class Volume:
    def __init__(
        self, directory: Path, group: str, consumer: ConsumerId, say: Callable[[str], None], creation: str = ""
    ) -> None:
        """`creation` is the platform's, which differs for each creation of a consumer and stays through restarts."""
        self._directory, self._group, self._consumer, self._say = directory, group, consumer, say
        self._creation = creation
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise InvalidInput(f"the volume {directory} can't be used: {error.strerror}; name a directory") from None
        self._take()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._lock)

    def read(self) -> Saved | None:
        """What the process before left; nothing if it left nothing that is ours and can be read."""
        file = self._directory / STATE
        try:
            return self._understood(parse_json(file.read_bytes()))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RestowError(f"{file} can't be read: {error.strerror}") from None
        except InvalidInput as error:
            file.replace(self._directory / SET_ASIDE)
            self._say(f"{file} is set aside as {SET_ASIDE}, and nothing is resumed from it: {error}")
            return None

    def write(self, saved: Saved) -> None:
        plain = {"version": VERSION, "group": self._group, "creation": self._creation, "saved": to_plain(saved)}
        new = self._directory / f"{STATE}.new"
        try:
            with new.open("wb") as file:
                file.write(as_json(plain) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._directory / STATE)
            self._sync()
        except OSError as error:
            raise RestowError(f"{self._directory / STATE} can't be written: {error.strerror}") from None

    def _understood(self, plain: Any) -> Saved:
        if not isinstance(plain, dict) or plain.get("version") != VERSION:
            raise InvalidInput(f"it is no state of version {VERSION}")
        if plain.get("group") != self._group:
            raise InvalidInput(f"it belongs to the group {plain.get('group')}, and this is {self._group}")
        saved = from_plain(Saved, plain.get("saved"), "saved")
        if saved.consumer != self._consumer:
            raise InvalidInput(f"it belongs to consumer {saved.consumer}, and this is consumer {self._consumer}")
        if not saved.clean and plain.get("creation", "") != self._creation:
            raise InvalidInput("it is of one that was deleted since, and what it held is read by others")
        if set(saved.topics) != {partition.topic for partition in saved.positions}:
            raise InvalidInput("its topics are not those of its partitions")
        return saved

    def _take(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(self._lock, 20, 0).decode(errors="replace").strip()
            os.close(self._lock)
            raise RestowError(
                f"the volume {self._directory} is in use by process {owner}; a volume has one process: end that one, "
                "or name another volume"
            ) from None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)

    def _sync(self) -> None:
        """The directory's own entry, too, is on the disk."""
        directory = os.open(self._directory, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
