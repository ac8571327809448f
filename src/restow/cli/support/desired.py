"""Writes desired state to the service topic for the commands that change a group, and says what became of it.

The controller answers every record in its picture, within a second or two. Without a controller the record waits on the
topic, and takes effect when one starts.
"""

import argparse
import getpass
import os
import socket
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from restow.cli.support.config import settings_of
from restow.cli.support.group_picture import age_s, picture_if_any
from restow.cli.support.output import print_json, print_line
from restow.clock import utc_now
from restow.errors import RestowError
from restow.kafka.admin import Admin
from restow.kafka.channels.services import read_services, write_service
from restow.kafka.channels.status import StatusReader
from restow.kafka.errors import NoSuchTopic
from restow.kafka.topics import ensure_topics
from restow.picture.answers import ANSWER_WITHIN_S, Outcome, answer_to
from restow.picture.parts import Assembler
from restow.picture.picture import Picture
from restow.picture.publication import OUTAGE_AFTER_S
from restow.protocol.messages.desired import PartitionPin
from restow.protocol.messages.unions import OnService
from restow.settings import Settings

LOOK_EVERY_S: Final = 0.2
MAYBE_WITHIN_S: Final = 600.0
"""With a picture that is not older, an answer is awaited: an outage may be over, or this machine's clock be off."""
TAKEN, REFUSED, UNKNOWN = 0, 1, 3
"""Exit codes. 2 is wrong input, as of every command."""


@dataclass(frozen=True, slots=True)
class Author:
    """Who writes a record, when and why."""

    by: str
    at: str
    reason: str

    @classmethod
    def of(cls, args: argparse.Namespace) -> Self:
        return cls(f"{_user()}@{socket.gethostname()}", utc_now(), getattr(args, "reason", ""))

    def fields(self) -> dict[str, Any]:
        return {"by": self.by, "at": self.at, "reason": self.reason}


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a pod may run under a number that has no name
        return f"uid-{os.getuid()}"


class Desk:
    """The group's service topic and picture, as one command uses them. A listing, which has no --reason, makes no
    topics."""

    services: Mapping[str, OnService]
    picture: Picture | None
    """None before the first controller of the group."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.settings: Settings = settings_of(args)
        self._is_changing = hasattr(args, "reason")
        self.author = Author.of(args)
        self._as_json: bool = args.json
        self._ending = ExitStack()

    def __enter__(self) -> Self:
        self.services, self.picture = self._services(), None
        self._reader = self._ending.enter_context(StatusReader(self.settings, Assembler))
        self.picture = picture_if_any(self._reader)
        return self

    def _services(self) -> Mapping[str, OnService]:
        try:
            return read_services(self.settings)
        except NoSuchTopic:  # the group has not run yet
            if not self._is_changing:
                return {}
            ensure_topics(Admin(self.settings.kafka), self.settings.topics)
            return {}

    def __exit__(self, *_: object) -> None:
        self._ending.close()

    @property
    def has_controller(self) -> bool:
        """Whether a controller publishes."""
        return self.picture is not None and age_s(self.picture) <= OUTAGE_AFTER_S

    def known_picture(self, purpose: str) -> Picture:
        """Raises RestowError if there is none. `purpose` completes "so that …"."""
        if self.picture is None:
            raise RestowError(
                f"{self.settings.topics.status} has no picture yet, so that {purpose}; start `restow controller` of "
                f"group {self.settings.group.name} first"
            )
        return self.picture

    def write(self, message: OnService, what: str) -> int:
        """Writes the record, waits for the controller's answer and prints it. Returns the exit code."""
        is_awaited = self.picture is not None and age_s(self.picture) <= MAYBE_WITHIN_S
        offset = write_service(self.settings, message, f"restow of {self.author.by}")
        answer = self._answer_to(offset) if is_awaited else None
        self.picture = self._reader.picture
        if answer is not None:
            outcome = "taken" if answer.taken else "refused"
            said = answer.words.removeprefix(outcome).lstrip(":; ")
            words = f"{outcome} by controller {self._name}{f': {said}' if said else ''}"
        elif self.has_controller:
            outcome = "unknown"
            words = (
                f"recorded; controller {self._name} has not answered within {ANSWER_WITHIN_S:.0f} s, and `restow "
                "status` shows when it has"
            )
        else:
            outcome, words = "recorded", f"recorded; {self._why_no_answer()}, and it takes effect when one does"
        self.tell(what, outcome, words, offset)
        return {"taken": TAKEN, "recorded": TAKEN, "refused": REFUSED}.get(outcome, UNKNOWN)

    def withdraw(self, refused: PartitionPin) -> None:
        """Writes what stood before a refused pin, so that no later controller finds it and carries it out."""
        before = self.services.get(refused.key)
        holds = isinstance(before, PartitionPin) and before.until is not None and before.until > self.author.at
        written = before if holds and before is not None else replace(refused, consumer=None, until=None)
        write_service(self.settings, written, f"restow of {self.author.by}")

    def tell(self, what: str, outcome: str, words: str, offset: int | None = None) -> None:
        group = self.settings.group.name
        if self._as_json:
            print_json({"group": group, "change": what, "outcome": outcome, "words": words, "offset": offset})
        else:
            print_line(f"group {group}: {what}: {words}")

    def _answer_to(self, offset: int) -> Outcome | None:
        deadline_s = time.monotonic() + ANSWER_WITHIN_S
        while True:
            self._reader.follow(LOOK_EVERY_S)
            picture = self._reader.picture
            found = None if picture is None else answer_to(picture.overview, offset)
            if found is not None or time.monotonic() > deadline_s:
                return found

    @property
    def _name(self) -> str:
        picture = self._reader.picture
        return "" if picture is None else picture.overview.controller

    def _why_no_answer(self) -> str:
        if self.picture is None:
            return "no controller has run yet"
        return f"no controller runs (the last picture is {age_s(self.picture):.0f} s old)"
