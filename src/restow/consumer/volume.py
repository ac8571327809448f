"""A consumer's directory: its checkpoint, the write plan of the running cycle, and a lock for one process at a time.

Files are written atomically. A file that can't be read, or that belongs to another consumer, is renamed and not used:
then the tables alone have the offsets to resume from.

A full disk doesn't stop a consumer. A checkpoint that can't be written must not leave an older one behind, from which
the next process would resume partitions that others have by then. So the older one is removed, which takes no space: a
consumer that restarts now holds nothing, as after the loss of its volume, and gets its partitions from the controller.
The checkpoint is written again as soon as there is room.
"""

import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from restow.backoff import Backoff, Retries
from restow.consumer.checkpoint import Checkpoint, Suspect, Suspects, TableWrite, WritePlan
from restow.durable import remove, try_lock, write_atomically
from restow.errors import InvalidInput, RestowError
from restow.model import ConsumerId
from restow.protocol.codec import from_plain, to_plain
from restow.protocol.json_text import as_json, parse_json

log = logging.getLogger(__name__)

VERSION: Final = 1
STATE: Final = "state.json"
SET_ASIDE: Final = ".set-aside"
PLAN: Final = "plan.json"
SUSPECTS: Final = "suspects.json"
LOCK: Final = "lock"
RETRY: Final = Backoff(first_s=0.5, longest_s=30.0)
READABLE_FILE: Final = 0o644
"""The files hold no secrets, and an operator may want to read them."""

T = TypeVar("T", Checkpoint, WritePlan, Suspects)


class VolumeFails(RestowError):
    """A file can't be written. The disk may be full."""


class Volume:
    def __init__(self, directory: Path, group: str, consumer: ConsumerId, creation: str = "") -> None:
        """`creation` identifies the creation of this consumer on its platform; restarts keep it. Raises RestowError if
        another process holds the volume."""
        self._directory, self._group, self._consumer, self._creation = directory, group, consumer, creation
        self._unwritten: Checkpoint | None = None
        self._retries = Retries(RETRY)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, READABLE_FILE)
        except OSError as error:
            raise InvalidInput(f"the volume {directory} can't be used: {error.strerror}; name a directory") from None
        self._take_lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._lock)

    def read(self) -> Checkpoint | None:
        """Returns the checkpoint of the previous process; None if there is none of ours that can be read."""
        return self._read(STATE, self._parse_checkpoint, "nothing is resumed from it")

    def write(self, checkpoint: Checkpoint) -> None:
        """Returns when the checkpoint, or none at all, is on disk. Raises RestowError if neither can be achieved."""
        self._unwritten = checkpoint
        self._try_to_write(checkpoint)

    def catch_up(self) -> None:
        """Writes the last checkpoint if it could not be written yet and a retry is due. Called often."""
        if self._unwritten is not None and not self._retries.is_waiting(STATE, time.monotonic()):
            self._try_to_write(self._unwritten)

    def read_plan(self) -> tuple[TableWrite, ...]:
        """Returns the plan of the cycle that was running when the previous process ended; empty if there was none."""
        consequence = "the tables' vacuum removes what its cycle may have left"
        plan = self._read(PLAN, self._parse_plan, consequence)
        return plan.stages if plan else ()

    def write_plan(self, stages: tuple[TableWrite, ...]) -> None:
        self._write(PLAN, {"plan": to_plain(WritePlan(self._consumer, stages))})

    def forget_plan(self) -> None:
        """Not synced: a plan that reappears after a power cut is recognized as done."""
        try:
            (self._directory / PLAN).unlink(missing_ok=True)
        except OSError as error:
            raise RestowError(f"{self._directory / PLAN} can't be removed: {error.strerror}") from None

    def read_suspects(self) -> tuple[Suspect, ...]:
        """Returns the ranges that earlier processes of this consumer crashed on."""
        found = self._read(SUSPECTS, self._parse_suspects, "ranges that crashed the process are read as any others")
        return found.ranges if found else ()

    def write_suspects(self, suspects: tuple[Suspect, ...]) -> None:
        self._write(SUSPECTS, {"suspects": to_plain(Suspects(self._consumer, suspects))})

    def _read(self, name: str, parse: Callable[[Any], T], consequence: str) -> T | None:
        file = self._directory / name
        try:
            return parse(parse_json(file.read_bytes()))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RestowError(f"{file} can't be read: {error.strerror}") from None
        except InvalidInput as error:
            aside = f"{name}{SET_ASIDE}"
            file.replace(self._directory / aside)
            log.warning("%s is renamed to %s, and %s: %s", file, aside, consequence, error)
            return None

    def _try_to_write(self, checkpoint: Checkpoint) -> None:
        try:
            self._write_or_remove(checkpoint)
        except VolumeFails as error:
            if self._retries.failed(STATE, time.monotonic()):
                log.warning("%s; until it can, a restart begins without partitions; retrying", error)
        else:
            self._unwritten = None
            if self._retries.succeeded(STATE):
                log.info("%s is written again", self._directory / STATE)

    def _write_or_remove(self, checkpoint: Checkpoint) -> None:
        """Raises VolumeFails if there is no checkpoint now, and RestowError if an older one is left."""
        content = {"creation": self._creation, "saved": to_plain(checkpoint)}
        try:
            self._write(STATE, content)
        except VolumeFails as failure:
            try:
                remove(self._directory / STATE)
            except OSError as error:
                raise RestowError(f"{failure}, and the older one can't be removed: {error.strerror}") from None
            self._write(STATE, content)  # in the space of the older one

    def _write(self, name: str, content: dict[str, Any]) -> None:
        file, plain = self._directory / name, {"version": VERSION, "group": self._group, **content}
        try:
            write_atomically(file, as_json(plain) + b"\n", READABLE_FILE)
        except OSError as error:
            raise VolumeFails(f"{file} can't be written: {error.strerror}") from None

    def _parse_checkpoint(self, plain: Any) -> Checkpoint:
        checkpoint = from_plain(Checkpoint, self._content_of(plain, "state").get("saved"), "saved")
        self._check_consumer(checkpoint.consumer)
        if not checkpoint.clean and plain.get("creation", "") != self._creation:
            raise InvalidInput("it is from a consumer that was deleted; others read its partitions now")
        if set(checkpoint.topics) != {partition.topic for partition in checkpoint.positions}:
            raise InvalidInput("its topics are not those of its partitions")
        return checkpoint

    def _parse_plan(self, plain: Any) -> WritePlan:
        """Accepts the plan of a deleted consumer too: no other process would clean up after its cycle."""
        plan = from_plain(WritePlan, self._content_of(plain, "plan").get("plan"), "plan")
        self._check_consumer(plan.consumer)
        for stage in plan.stages:
            if list(stage.first) != list(stage.next):
                raise InvalidInput("its first and next offsets are not of the same partitions")
        return plan

    def _parse_suspects(self, plain: Any) -> Suspects:
        found = from_plain(Suspects, self._content_of(plain, "list of suspects").get("suspects"), "suspects")
        self._check_consumer(found.consumer)
        for each in found.ranges:
            if list(each.first) != list(each.next):
                raise InvalidInput("its first and next offsets are not of the same partitions")
        return found

    def _content_of(self, plain: Any, what: str) -> dict[str, Any]:
        if not isinstance(plain, dict) or plain.get("version") != VERSION:
            raise InvalidInput(f"it is no {what} of version {VERSION}")
        if plain.get("group") != self._group:
            raise InvalidInput(f"it belongs to the group {plain.get('group')}, and this is {self._group}")
        return plain

    def _check_consumer(self, consumer: ConsumerId) -> None:
        if consumer != self._consumer:
            raise InvalidInput(f"it belongs to consumer {consumer}, and this is consumer {self._consumer}")

    def _take_lock(self) -> None:
        if not try_lock(self._lock):
            owner = os.pread(self._lock, 20, 0).decode(errors="replace").strip()
            os.close(self._lock)
            raise RestowError(
                f"the volume {self._directory} is in use by process {owner}; a volume has one process: end that one, "
                "or name another volume"
            )
        with suppress(OSError):  # only the message above needs it
            os.ftruncate(self._lock, 0)
            os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)
