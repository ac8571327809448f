"""What was seen and told so far, what is seen now -> what is to be told. Pure; a `KubernetesPlatform` has one `Teller`.

Each creation of a consumer is followed by itself. It is known from the moment that it was asked for; how its pods do is
told while no other with its number is left; that it is gone is told when a look has found nothing of it, and then
whatever a slow watch still shows of it is history.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from restow.model import ConsumerId
from restow.platform.interface import ConsumerFailing, ConsumerGone, ConsumerUp, PlatformChange
from restow.platform.kubernetes.seen import Seen

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
    """One creation, and what of it was told last."""

    was_seen: bool = False
    is_gone: bool = False
    up: tuple[str, int] | None = None
    failing: tuple[str, int] | None = None
    waits: str | None = None


class Teller:
    def __init__(self, deployments: Iterable[Seen], pods: Iterable[Seen]) -> None:
        """What is there now; it is not told."""
        self._seen: dict[Kinds, dict[str, Seen]] = {"deployments": {}, "pods": {}}
        self._known: dict[Creation, _Known] = {}
        self._history: dict[Creation, None] = {}
        self._is_new = True
        self.hear(All("deployments", tuple(deployments)))
        self.hear(All("pods", tuple(pods)))
        self.tell()

    def hear(self, news: News) -> None:
        self._is_new = True
        match news:
            case All(kind, seen):
                self._seen[kind] = {each.uid: each for each in seen if self._is_of_today(each)}
            case Changed(kind, seen):
                if self._is_of_today(seen):
                    self._seen[kind][seen.uid] = seen
            case Removed(kind, uid):
                self._seen[kind].pop(uid, None)
            case Asked(creation):
                self._known.setdefault(creation, _Known())
            case FoundGone(creations):
                for creation in creations:
                    if creation in self._known:
                        self._known[creation].is_gone = True

    def tell(self) -> tuple[PlatformChange, ...]:
        """For each consumer in order."""
        if not self._is_new:
            return ()
        self._is_new = False
        present = self._present()
        for creation in present:
            self._known.setdefault(creation, _Known()).was_seen = True
        return tuple(self._changes(present))

    def waiting(self) -> tuple[str, ...]:
        """A line for each whose pod no node can take, once."""
        lines = []
        for (consumer, creation), seen in sorted(self._present().items()):
            known = self._known.get((consumer, creation))
            waits = next((each.waits for each in seen if each.waits), None)
            if known and waits and known.waits is None:
                known.waits = waits
                lines.append(f"consumer {consumer} waits for a node: {waits}")
        return tuple(lines)

    def missing(self, *, unseen_too: bool = False) -> tuple[Creation, ...]:
        """Those that no watch shows any more, or, on demand, that none has shown yet: to be looked for."""
        present = self._present()
        return tuple(
            creation
            for creation, known in sorted(self._known.items())
            if creation not in present and not known.is_gone and (known.was_seen or unseen_too)
        )

    def _present(self) -> dict[Creation, list[Seen]]:
        found: dict[Creation, list[Seen]] = defaultdict(list)
        for kind in self._seen.values():
            for each in kind.values():
                found[each.consumer, each.creation].append(each)
        return found

    def _changes(self, present: dict[Creation, list[Seen]]) -> Iterator[PlatformChange]:
        by_consumer: dict[ConsumerId, list[Creation]] = defaultdict(list)
        for creation in sorted(self._known):
            by_consumer[creation[0]].append(creation)
        for consumer, creations in by_consumer.items():
            for creation in [each for each in creations if self._known[each].is_gone]:
                self._forget(creation)
                creations.remove(creation)
                yield ConsumerGone(consumer)
            if len(creations) == 1:
                yield from _news(consumer, self._known[creations[0]], present.get(creations[0], []))

    def _forget(self, creation: Creation) -> None:
        del self._known[creation]
        self._history[creation] = None
        if len(self._history) > REMEMBERED:
            del self._history[next(iter(self._history))]
        for kind in self._seen.values():
            for uid in [uid for uid, each in kind.items() if (each.consumer, each.creation) == creation]:
                del kind[uid]

    def _is_of_today(self, seen: Seen) -> bool:
        return (seen.consumer, seen.creation) not in self._history


def _news(consumer: ConsumerId, known: _Known, seen: list[Seen]) -> Iterator[PlatformChange]:
    """The newest pod comes last. What was told once of one process is not told again."""
    up = next(((each.uid, each.up) for each in reversed(seen) if each.up is not None), None)
    failing = next(((each.uid, *each.failing) for each in reversed(seen) if each.failing), None)
    if up is not None:
        if up != known.up:
            known.up, known.waits = up, None
            yield ConsumerUp(consumer)
    elif failing is not None:
        uid, which, reason = failing
        if (uid, which) != known.failing:
            known.failing = (uid, which)
            yield ConsumerFailing(consumer, reason)
