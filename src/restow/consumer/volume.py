"""A consumer's own directory: what it keeps for the process after it, and the lock that makes it one process's.

Its state, and the plan of the cycle that is under way, are files which are written beside the old ones, synced, and put
in their place, so that a crash leaves the one or the other. What can't be read, or is another consumer's, is set aside:
then the tables alone say where to go on.
"""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from restow.consumer.checkpoint import Checkpoint, TableWrite, WritePlan
from restow.errors import InvalidInput, RestowError
from restow.model import ConsumerId
from restow.protocol.codec import from_plain, to_plain
from restow.protocol.json_text import as_json, parse_json

VERSION: Final = 1
STATE: Final = "state.json"
SET_ASIDE: Final = ".set-aside"
PLAN: Final = "plan.json"
LOCK: Final = "lock"

T = TypeVar("T", Checkpoint, WritePlan)


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

    def read(self) -> Checkpoint | None:
        """What the process before left; nothing if it left nothing that is ours and can be read."""
        return self._read(STATE, self._understood, "nothing is resumed from it")

    def write(self, checkpoint: Checkpoint) -> None:
        self._write(STATE, {"creation": self._creation, "saved": to_plain(checkpoint)})

    def read_plan(self) -> tuple[TableWrite, ...]:
        """Of the cycle that was under way when the process before ended; nothing where none was."""
        plan = self._read(PLAN, self._understood_plan, "what was under way is left to whoever sweeps the tables")
        return plan.stages if plan else ()

    def write_plan(self, stages: tuple[TableWrite, ...]) -> None:
        self._write(PLAN, {"plan": to_plain(WritePlan(self._consumer, stages))})

    def forget_plan(self) -> None:
        """Not synced: one that comes back after a power cut is found to be done."""
        try:
            (self._directory / PLAN).unlink(missing_ok=True)
        except OSError as error:
            raise RestowError(f"{self._directory / PLAN} can't be removed: {error.strerror}") from None

    def _read(self, name: str, understood: Callable[[Any], T], what_follows: str) -> T | None:
        file = self._directory / name
        try:
            return understood(parse_json(file.read_bytes()))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RestowError(f"{file} can't be read: {error.strerror}") from None
        except InvalidInput as error:
            aside = f"{name}{SET_ASIDE}"
            file.replace(self._directory / aside)
            self._say(f"{file} is set aside as {aside}, and {what_follows}: {error}")
            return None

    def _write(self, name: str, content: dict[str, Any]) -> None:
        plain = {"version": VERSION, "group": self._group, **content}
        new = self._directory / f"{name}.new"
        try:
            with new.open("wb") as file:
                file.write(as_json(plain) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._directory / name)
            self._sync()
        except OSError as error:
            raise RestowError(f"{self._directory / name} can't be written: {error.strerror}") from None

    def _understood(self, plain: Any) -> Checkpoint:
        checkpoint = from_plain(Checkpoint, self._ours(plain, "state").get("saved"), "saved")
        self._must_be_of(checkpoint.consumer)
        if not checkpoint.clean and plain.get("creation", "") != self._creation:
            raise InvalidInput("it is of one that was deleted since, and what it held is read by others")
        if set(checkpoint.topics) != {partition.topic for partition in checkpoint.positions}:
            raise InvalidInput("its topics are not those of its partitions")
        return checkpoint

    def _understood_plan(self, plain: Any) -> WritePlan:
        """Of whatever creation: what one that was deleted left half done is nobody else's to tidy up."""
        plan = from_plain(WritePlan, self._ours(plain, "plan").get("plan"), "plan")
        self._must_be_of(plan.consumer)
        for stage in plan.stages:
            if list(stage.first) != list(stage.next):
                raise InvalidInput("its offsets are not of the same partitions")
        return plan

    def _ours(self, plain: Any, what: str) -> dict[str, Any]:
        if not isinstance(plain, dict) or plain.get("version") != VERSION:
            raise InvalidInput(f"it is no {what} of version {VERSION}")
        if plain.get("group") != self._group:
            raise InvalidInput(f"it belongs to the group {plain.get('group')}, and this is {self._group}")
        return plain

    def _must_be_of(self, consumer: ConsumerId) -> None:
        if consumer != self._consumer:
            raise InvalidInput(f"it belongs to consumer {consumer}, and this is consumer {self._consumer}")

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
