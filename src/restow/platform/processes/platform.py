"""`LocalProcesses`: the platform that runs each consumer as a process on this machine. A controller has one.

Changes are the difference between two looks at files and processes, so that none is lost between looks and none is
reported twice. docs/platform-processes.md has what is enforced of a consumer's settings and what is only passed on.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from restow.model import ConsumerId
from restow.platform.interface import (
    ConsumerCrashed,
    ConsumerFailing,
    ConsumerGone,
    ConsumerUp,
    Listed,
    OneByOne,
    PlatformChange,
    PlatformRefusal,
)
from restow.platform.processes.files import DesiredState, Status
from restow.platform.processes.identity import identity_of
from restow.platform.processes.supervisors import LocalConsumer, Supervisors
from restow.protocol.consumer_settings import ConsumerSettings

CommandOf = Callable[[ConsumerId, Path, ConsumerSettings], Sequence[str]]
"""What to run for a consumer with this volume and these settings."""

CRASHES_TO_REPORT = 2
"""From the second crash in a row, each is reported as ConsumerFailing too."""


class LocalProcesses(OneByOne):
    def __init__(
        self, group: str, directory: Path, command: CommandOf, grace_s: float, *, keep_volumes: bool = True
    ) -> None:
        self._supervisors = Supervisors(group, directory, keep_volumes)
        self.identity = identity_of(directory)
        self._command = command
        self._grace_s = grace_s
        self._last = self._supervisors.consumers()
        self._failures: dict[ConsumerId, str] = {}

    def list(self) -> tuple[Listed, ...]:
        consumers = self._supervisors.consumers()
        return tuple(Listed(consumer, not local.wanted, local.settings) for consumer, local in consumers.items())

    def create(self, consumer: ConsumerId, settings: ConsumerSettings) -> None:
        self._supervisors.create(consumer, self._desired(consumer, settings))

    def delete(self, consumer: ConsumerId) -> None:
        self._supervisors.delete(consumer)

    def restart(self, consumer: ConsumerId, settings: ConsumerSettings) -> None:
        self._supervisors.restart(consumer, self._desired(consumer, settings))

    def changes(self) -> tuple[PlatformChange, ...]:
        try:
            # In this order: what is gone in the list has been cleaned up, volume included, when it is reported.
            now = self._supervisors.consumers()
            failures = self._supervisors.repair()
        except (OSError, PlatformRefusal):
            return ()  # `list` raises the reason; changes since then are reported once the directory can be read
        changes: list[PlatformChange] = [
            ConsumerFailing(consumer, reason)
            for consumer, reason in failures.items()
            if self._failures.get(consumer) != reason
        ]
        before, self._failures = self._last, failures
        self._last = {consumer: _filled(before.get(consumer), local) for consumer, local in now.items()}
        for consumer in sorted({*before, *self._last}):
            changes += _changes(consumer, before.get(consumer), self._last.get(consumer))
        return tuple(changes)

    def _desired(self, consumer: ConsumerId, settings: ConsumerSettings) -> DesiredState:
        volume = self._supervisors.volume(consumer)
        return DesiredState(
            creation=uuid.uuid4().hex,
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


def _filled(before: LocalConsumer | None, now: LocalConsumer) -> LocalConsumer:
    """Takes from the last look what can't be read at the moment: a damaged file is no change."""
    if not before:
        return now
    return replace(now, creation=now.creation or before.creation, status=now.status or before.status)


def _changes(
    consumer: ConsumerId, before: LocalConsumer | None, after: LocalConsumer | None
) -> Iterator[PlatformChange]:
    """What happened to a consumer between two looks."""
    if before and (not after or after.creation != before.creation):
        yield ConsumerGone(consumer)
        before = None
    if not after or not after.status:
        return
    if before and before.status and _has_crashed(before.status, after.status):
        yield ConsumerCrashed(consumer, after.status.reason)
    crash = (after.status.supervisor, after.status.crashes)
    crash_before = (before.status.supervisor, before.status.crashes) if before and before.status else None
    if after.status.crashes >= CRASHES_TO_REPORT and crash != crash_before:
        yield ConsumerFailing(consumer, after.status.reason)
    if after.child and after.child != (before.child if before else None):
        yield ConsumerUp(consumer)


def _has_crashed(before: Status, after: Status) -> bool:
    """Whether the process that ran has ended without being asked to. One that ended with its supervisor is failing."""
    is_another = before.child is not None and after.child != before.child
    return is_another and after.supervisor == before.supervisor and after.ended > before.ended
