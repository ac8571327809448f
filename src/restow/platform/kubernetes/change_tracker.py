"""Turns watch updates into ConsumerUp, ConsumerCrashed, ConsumerFailing and ConsumerGone, each reported once. Pure.

A `KubernetesPlatform` has one `ChangeTracker`. It follows each creation of a consumer separately: from the request that
made it, through its pods, whose changes are reported only while no other creation has the same number, until a fresh
list shows none of its objects. Whatever a slow watch still shows of it afterwards is ignored.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, assert_never

from restow.model import ConsumerId
from restow.platform.interface import ConsumerCrashed, ConsumerFailing, ConsumerGone, ConsumerUp, PlatformChange
from restow.platform.kubernetes.status import ObjectStatus

UNSCHEDULABLE_AFTER_S: Final = 15.0
"""A pod is unschedulable for a moment while its claim is bound; that is not worth a line in the log."""
MOST_REMEMBERED: Final = 10_000
"""How many gone creations are remembered, so that a slow watch doesn't bring them back."""

Kinds = Literal["deployments", "pods"]
Creation = tuple[ConsumerId, str]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All objects of a kind, from a list."""

    kind: Kinds
    statuses: tuple[ObjectStatus, ...]


@dataclass(frozen=True, slots=True)
class Changed:
    kind: Kinds
    status: ObjectStatus


@dataclass(frozen=True, slots=True)
class Removed:
    kind: Kinds
    uid: str


@dataclass(frozen=True, slots=True)
class Created:
    """The API server accepted this creation from the platform object itself."""

    creation: Creation


@dataclass(frozen=True, slots=True)
class ConfirmedGone:
    """A fresh list shows no object of these."""

    creations: tuple[Creation, ...]


Observation = Snapshot | Changed | Removed | Created | ConfirmedGone


@dataclass(slots=True)
class _Tracked:
    """One creation: the last process seen running, ended or failing, and the changes still to be reported."""

    was_seen: bool = False
    is_gone: bool = False
    up: tuple[str, int] | None = None
    ended: tuple[str, int] | None = None
    failing: tuple[str, int] | None = None
    crash: ConsumerCrashed | None = None
    """Not reported yet, as what follows."""
    unreported: ConsumerUp | ConsumerFailing | None = None
    unschedulable_since_s: float | None = None
    is_logged: bool = False

    def update(self, status: ObjectStatus) -> None:
        """Each process counts once. A later status without a process doesn't cancel what is still to be reported: a pod
        that ran and was deleted between two calls was up. Only a process that was seen running has crashed."""
        self.was_seen = True
        if status.ended is not None and self.up is not None and self.ended != (status.uid, status.ended[0]):
            count, reason = status.ended
            if self.up[0] == status.uid and self.up[1] < count:
                self.crash, self.unreported = ConsumerCrashed(status.consumer, reason), None
            self.ended = (status.uid, count)
        if status.up is not None and self.up != (status.uid, status.up):
            self.up, self.unreported = (status.uid, status.up), ConsumerUp(status.consumer)
        elif status.failing is not None and self.failing != (status.uid, status.failing[0]):
            restarts, reason = status.failing
            self.failing, self.unreported = (status.uid, restarts), ConsumerFailing(status.consumer, reason)

    def take(self) -> Iterator[PlatformChange]:
        """What is to be reported, once: a crash before what followed it."""
        crash, change = self.crash, self.unreported
        self.crash = self.unreported = None
        if crash is not None:
            yield crash
        if change is not None:
            yield change


class ChangeTracker:
    def __init__(self, deployments: Iterable[ObjectStatus], pods: Iterable[ObjectStatus]) -> None:
        """Starts from what exists now, which is not reported."""
        self._statuses: dict[Kinds, dict[str, ObjectStatus]] = {"deployments": {}, "pods": {}}
        self._tracked: dict[Creation, _Tracked] = {}
        self._gone: dict[Creation, None] = {}
        self.observe(Snapshot("deployments", tuple(deployments)))
        self.observe(Snapshot("pods", tuple(pods)))
        for tracked in self._tracked.values():
            tuple(tracked.take())

    def observe(self, observation: Observation) -> None:
        match observation:
            case Snapshot(kind, statuses):
                self._statuses[kind] = {}
                for status in statuses:
                    self._update(kind, status)
            case Changed(kind, status):
                self._update(kind, status)
            case Removed(kind, uid):
                self._statuses[kind].pop(uid, None)
            case Created(creation):
                self._tracked.setdefault(creation, _Tracked())
            case ConfirmedGone(creations):
                for creation in creations:
                    if creation in self._tracked:
                        self._tracked[creation].is_gone = True
            case _:
                assert_never(observation)

    def take_changes(self) -> tuple[PlatformChange, ...]:
        """The changes since the last call, by consumer, each consumer's in order."""
        by_consumer: dict[ConsumerId, list[Creation]] = defaultdict(list)
        for creation in sorted(self._tracked):
            by_consumer[creation[0]].append(creation)
        return tuple(change for creations in by_consumer.values() for change in self._changes(creations))

    def has_crash(self) -> bool:
        """Whether a crash is still to be reported."""
        return any(tracked.crash is not None for tracked in self._tracked.values())

    def newly_unschedulable(self, now_s: float) -> tuple[tuple[ConsumerId, str], ...]:
        """Consumers that have waited long for a node, and why; each once."""
        waiting = {
            (each.consumer, each.creation): each.unschedulable
            for each in self._statuses["pods"].values()
            if each.unschedulable
        }
        found = []
        for creation, tracked in sorted(self._tracked.items()):
            if creation not in waiting:
                tracked.unschedulable_since_s, tracked.is_logged = None, False
                continue
            if tracked.unschedulable_since_s is None:
                tracked.unschedulable_since_s = now_s
            if now_s - tracked.unschedulable_since_s >= UNSCHEDULABLE_AFTER_S and not tracked.is_logged:
                tracked.is_logged = True
                found.append((creation[0], waiting[creation]))
        return tuple(found)

    def missing(self, *, unseen_too: bool = False) -> tuple[Creation, ...]:
        """Creations that the watches no longer show, and with `unseen_too` those they have never shown. They may be
        gone; only a fresh list can tell."""
        present = {(each.consumer, each.creation) for kind in self._statuses.values() for each in kind.values()}
        return tuple(
            creation
            for creation, tracked in sorted(self._tracked.items())
            if creation not in present and not tracked.is_gone and (tracked.was_seen or unseen_too)
        )

    def _update(self, kind: Kinds, status: ObjectStatus) -> None:
        creation = (status.consumer, status.creation)
        if creation not in self._gone:
            self._statuses[kind][status.uid] = status
            self._tracked.setdefault(creation, _Tracked()).update(status)

    def _changes(self, creations: Iterable[Creation]) -> Iterator[PlatformChange]:
        """Of one consumer: which creations are gone, then how the remaining one does, if there is only one."""
        left = []
        for creation in creations:
            if self._tracked[creation].is_gone:
                yield from self._forget(creation)
            else:
                left.append(creation)
        if len(left) == 1:
            yield from self._tracked[left[0]].take()

    def _forget(self, creation: Creation) -> Iterator[PlatformChange]:
        yield from self._tracked.pop(creation).take()
        yield ConsumerGone(creation[0])
        self._gone[creation] = None
        if len(self._gone) > MOST_REMEMBERED:
            del self._gone[next(iter(self._gone))]
        for statuses in self._statuses.values():
            for uid in [uid for uid, each in statuses.items() if (each.consumer, each.creation) == creation]:
                del statuses[uid]
