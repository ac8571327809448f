"""What was seen and told so far, what is seen now -> what is to be told. Pure; a `KubernetesPlatform` has one `Teller`.

Each creation of a consumer is followed by itself. It is known from the moment that it was asked for; how its pods do is
told while no other with its number is left; that it is gone is told when a look has found nothing of it, and then
whatever a slow watch still shows of it is history.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, assert_never

from restow.model import ConsumerId
from restow.platform.interface import ConsumerFailing, ConsumerGone, ConsumerUp, PlatformChange
from restow.platform.kubernetes.status import Seen

SAID_AFTER_S: Final = 15.0
"""A pod waits a moment for its claim too, and that is nobody's business."""
REMEMBERED: Final = 10_000
"""So many that are gone are not taken for new ones."""

Kinds = Literal["deployments", "pods"]
Creation = tuple[ConsumerId, str]


@dataclass(frozen=True, slots=True)
class All:
    """Of a kind, at some moment."""

    kind: Kinds
    seen: tuple[Seen, ...]


@dataclass(frozen=True, slots=True)
class Changed:
    kind: Kinds
    seen: Seen


@dataclass(frozen=True, slots=True)
class Removed:
    kind: Kinds
    uid: str


@dataclass(frozen=True, slots=True)
class Asked:
    """It was created a moment ago, by this very platform object."""

    creation: Creation


@dataclass(frozen=True, slots=True)
class FoundGone:
    """A look found nothing of them."""

    creations: tuple[Creation, ...]


News = All | Changed | Removed | Asked | FoundGone


@dataclass(slots=True)
class _Known:
    """One creation: how it was seen to do last, and what of that is still to be told."""

    was_seen: bool = False
    is_gone: bool = False
    up: tuple[str, int] | None = None
    failing: tuple[str, int] | None = None
    news: ConsumerUp | ConsumerFailing | None = None
    waits_since_s: float | None = None
    """If no node can take its pod."""
    said_so: bool = False

    def see(self, seen: Seen) -> None:
        """What was seen of a process once is no news again. What comes later counts: a pod that ran and was then told
        to end, all before anybody asked, was up."""
        self.was_seen = True
        if seen.up is not None and self.up != (seen.uid, seen.up):
            self.up, self.news = (seen.uid, seen.up), ConsumerUp(seen.consumer)
        elif seen.failing is not None and self.failing != (seen.uid, seen.failing[0]):
            which, reason = seen.failing
            self.failing, self.news = (seen.uid, which), ConsumerFailing(seen.consumer, reason)


class Teller:
    def __init__(self, deployments: Iterable[Seen], pods: Iterable[Seen]) -> None:
        """What is there now; it is not told."""
        self._seen: dict[Kinds, dict[str, Seen]] = {"deployments": {}, "pods": {}}
        self._known: dict[Creation, _Known] = {}
        self._history: dict[Creation, None] = {}
        self.hear(All("deployments", tuple(deployments)))
        self.hear(All("pods", tuple(pods)))
        for known in self._known.values():
            known.news = None

    def hear(self, news: News) -> None:
        match news:
            case All(kind, seen):
                self._seen[kind] = {}
                for each in seen:
                    self._see(kind, each)
            case Changed(kind, seen):
                self._see(kind, seen)
            case Removed(kind, uid):
                self._seen[kind].pop(uid, None)
            case Asked(creation):
                self._known.setdefault(creation, _Known())
            case FoundGone(creations):
                for creation in creations:
                    if creation in self._known:
                        self._known[creation].is_gone = True
            case _:
                assert_never(news)

    def tell(self) -> tuple[PlatformChange, ...]:
        """For each consumer in order."""
        by_consumer: dict[ConsumerId, list[Creation]] = defaultdict(list)
        for creation in sorted(self._known):
            by_consumer[creation[0]].append(creation)
        return tuple(change for creations in by_consumer.values() for change in self._changes(creations))

    def lines(self, now_s: float) -> tuple[str, ...]:
        """For people: who has waited long for a node, and why; each once."""
        waiting = {(each.consumer, each.creation): each.waits for each in self._seen["pods"].values() if each.waits}
        lines = []
        for creation, known in sorted(self._known.items()):
            if creation not in waiting:
                known.waits_since_s, known.said_so = None, False
            elif known.waits_since_s is None:
                known.waits_since_s = now_s
            if known.waits_since_s is not None and now_s - known.waits_since_s >= SAID_AFTER_S and not known.said_so:
                known.said_so = True
                lines.append(f"consumer {creation[0]} waits for a node: {waiting[creation]}")
        return tuple(lines)

    def missing(self, *, unseen_too: bool = False) -> tuple[Creation, ...]:
        """Those that no watch shows any more, or, on demand, that none has shown yet: to be looked for."""
        present = {(each.consumer, each.creation) for kind in self._seen.values() for each in kind.values()}
        return tuple(
            creation
            for creation, known in sorted(self._known.items())
            if creation not in present and not known.is_gone and (known.was_seen or unseen_too)
        )

    def _see(self, kind: Kinds, seen: Seen) -> None:
        creation = (seen.consumer, seen.creation)
        if creation not in self._history:
            self._seen[kind][seen.uid] = seen
            self._known.setdefault(creation, _Known()).see(seen)

    def _changes(self, creations: Iterable[Creation]) -> Iterator[PlatformChange]:
        """Of one consumer: how it does while it is the only one with its number, and that one is gone."""
        left = []
        for creation in creations:
            if self._known[creation].is_gone:
                yield from self._last_words(creation)
            else:
                left.append(creation)
        if len(left) == 1 and (news := self._known[left[0]].news):
            self._known[left[0]].news = None
            yield news

    def _last_words(self, creation: Creation) -> Iterator[PlatformChange]:
        known = self._known.pop(creation)
        if known.news is not None:
            yield known.news
        yield ConsumerGone(creation[0])
        self._history[creation] = None
        if len(self._history) > REMEMBERED:
            del self._history[next(iter(self._history))]
        for seen in self._seen.values():
            for uid in [uid for uid, each in seen.items() if (each.consumer, each.creation) == creation]:
                del seen[uid]
