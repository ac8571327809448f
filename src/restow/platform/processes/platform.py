"""`LocalProcesses`: the platform that runs each consumer as a process on this machine. A controller's process has one.

What it tells is the difference between two looks at what is, so nothing is lost while nobody looks and nothing is told
twice. What is enforced of a consumer's settings, and what is only passed on to it: docs/platform-processes.md.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from restow.model import ConsumerId
from restow.platform.interface import (
    ConsumerFailing,
    ConsumerGone,
    ConsumerUp,
    Listed,
    OneByOne,
    PlatformChange,
    PlatformRefusal,
)
from restow.platform.processes.files import Wish
from restow.platform.processes.supervisors import Keepers, Seen
from restow.protocol.messages import ConsumerSettings

CommandOf = Callable[[ConsumerId, Path, ConsumerSettings], Sequence[str]]
"""What to run for a consumer with this volume and these settings."""

FALLS_TO_TELL = 2
"""One fall is an accident, and the consumer is told to be up again; from the second in a row on each is told."""


class LocalProcesses(OneByOne):
    def __init__(
        self, group: str, directory: Path, command: CommandOf, grace_s: float, *, keep_volumes: bool = True
    ) -> None:
        self._keepers = Keepers(group, directory, keep_volumes)
        self._command = command
        self._grace_s = grace_s
        self._seen = self._keepers.look()
        self._troubles: dict[ConsumerId, str] = {}

    def list(self) -> tuple[Listed, ...]:
        seen = self._keepers.look()
        return tuple(Listed(consumer, not each.wanted, each.settings) for consumer, each in seen.items())

    def create(self, consumer: ConsumerId, settings: ConsumerSettings) -> None:
        self._keepers.create(consumer, self._wish(consumer, settings))

    def delete(self, consumer: ConsumerId) -> None:
        self._keepers.delete(consumer)

    def restart(self, consumer: ConsumerId, settings: ConsumerSettings) -> None:
        self._keepers.restart(consumer, self._wish(consumer, settings))

    def changes(self) -> tuple[PlatformChange, ...]:
        try:
            troubles, now = self._keepers.mend(), self._keepers.look()
        except (OSError, PlatformRefusal):
            return ()  # `list` says what is wrong; all that happens meanwhile is told later
        told: list[PlatformChange] = [
            ConsumerFailing(consumer, words)
            for consumer, words in troubles.items()
            if self._troubles.get(consumer) != words
        ]
        before, self._troubles = self._seen, troubles
        self._seen = {consumer: _known(before.get(consumer), seen) for consumer, seen in now.items()}
        for consumer in sorted({*before, *self._seen}):
            told += _changes(consumer, before.get(consumer), self._seen.get(consumer))
        return tuple(told)

    def _wish(self, consumer: ConsumerId, settings: ConsumerSettings) -> Wish:
        volume = self._keepers.volume(consumer)
        return Wish(
            made=uuid.uuid4().hex,
            wanted=True,
            generation=1,
            command=tuple(self._command(consumer, volume, settings)),
            directory=str(Path.cwd()),
            volume=str(volume),
            grace_s=self._grace_s,
            memory_mb=settings.memory_mb,
            cores=settings.cores,
            environment=dict(settings.env),
            settings=settings.fingerprint,
        )


def _known(before: Seen | None, seen: Seen) -> Seen:
    """What can't be read at the moment is as it was: a damaged file is no news."""
    if not before:
        return seen
    return replace(seen, made=seen.made or before.made, status=seen.status or before.status)


def _changes(consumer: ConsumerId, before: Seen | None, after: Seen | None) -> Iterator[PlatformChange]:
    """What happened to a consumer between two looks."""
    if before and (not after or after.made != before.made):
        yield ConsumerGone(consumer)
        before = None
    if not after or not after.status:
        return
    fell = (after.status.keeper, after.status.falls)
    fell_before = (before.status.keeper, before.status.falls) if before and before.status else None
    if after.status.falls >= FALLS_TO_TELL and fell != fell_before:
        yield ConsumerFailing(consumer, after.status.reason)
    if after.child and after.child != (before.child if before else None):
        yield ConsumerUp(consumer)
