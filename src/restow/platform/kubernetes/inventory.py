"""What there is of which consumers, read from the API server itself and never from a watch. The platform looks before
it changes anything, when it lists, and before it says that somebody is gone.

Owners are read before what they own. Where no Deployment was, no replica set can be made any more; where then no
replica set was, no pod can be; so that "nothing" read in this order means that nothing will come either.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from lightkube.resources.apps_v1 import Deployment, ReplicaSet
from lightkube.resources.core_v1 import PersistentVolumeClaim, Pod

from restow.model import ConsumerId
from restow.platform.kubernetes import names
from restow.platform.kubernetes.api import Api, metadata_of

Item = Deployment | ReplicaSet | Pod | PersistentVolumeClaim


@dataclass(slots=True)
class Looked:
    """One consumer."""

    deployment: Deployment | None = None
    """The one that is to stay."""
    claim: PersistentVolumeClaim | None = None
    """The one that is to stay."""
    claim_is_leaving: bool = False
    leaving: list[str] = field(default_factory=list)
    """What else there is, by name: parts of one that was deleted."""
    creations: set[str] = field(default_factory=set)
    """Those of which anything is left that could write, or could make something that does."""

    @property
    def is_there(self) -> bool:
        """It runs, starts, or is leaving; a claim that is kept is nobody."""
        return self.deployment is not None or bool(self.leaving)


def selector(group: str, consumers: Collection[ConsumerId] | None = None) -> str:
    labels = f"app.kubernetes.io/component=consumer,{names.GROUP}={group}"
    if consumers is None:
        return labels
    return f"{labels},{names.CONSUMER} in ({','.join(map(str, sorted(consumers)))})"


def look(api: Api, group: str, consumers: Collection[ConsumerId] | None = None) -> dict[ConsumerId, Looked]:
    """By number those that were asked for, or all that have left anything at all. Raises Trouble."""
    found: dict[ConsumerId, Looked] = {consumer: Looked() for consumer in consumers or ()}
    if consumers is not None and not consumers:
        return found
    labels = selector(group, consumers)
    read: tuple[Item, ...] = (
        *api.list(Deployment, labels).items,
        *api.list(ReplicaSet, labels).items,
        *api.list(Pod, labels).items,
        *api.list(PersistentVolumeClaim, labels).items,
    )
    for item in read:
        consumer = consumer_of(item)
        if consumer is not None:
            _add(found.setdefault(consumer, Looked()), item)
    return dict(sorted(found.items()))


def consumer_of(item: Item) -> ConsumerId | None:
    number = label_of(item, names.CONSUMER)
    return ConsumerId(int(number)) if number.isdecimal() else None


def label_of(item: Item, label: str) -> str:
    labels: dict[str, str] = metadata_of(item).labels or {}
    return labels.get(label, "")


def is_leaving(item: Item) -> bool:
    return metadata_of(item).deletionTimestamp is not None


def _add(looked: Looked, item: Item) -> None:
    """A Deployment before what it owns."""
    creation = label_of(item, names.CREATION)
    if not isinstance(item, PersistentVolumeClaim):
        looked.creations.add(creation)
    match item:
        case Deployment() if not is_leaving(item):
            looked.deployment = item
        case PersistentVolumeClaim() if not is_leaving(item):
            looked.claim = item
        case ReplicaSet() | Pod() if looked.deployment and label_of(looked.deployment, names.CREATION) == creation:
            pass
        case _:
            looked.claim_is_leaving |= isinstance(item, PersistentVolumeClaim)
            looked.leaving.append(f"{type(item).__name__} {metadata_of(item).name}")
