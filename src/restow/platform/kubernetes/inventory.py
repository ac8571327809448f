"""Reads which objects exist of which consumers, from the API server itself and never from a watch.

The platform reads it before it changes anything, when it lists, and before it reports a consumer gone. Owners are
listed before what they own: without a Deployment no ReplicaSet can appear any more, and then without a ReplicaSet no
pod can. So "nothing", read in this order, means that nothing will appear either.
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
class ConsumerObjects:
    """What exists of one consumer."""

    deployment: Deployment | None = None
    """Unless it is being deleted."""
    claim: PersistentVolumeClaim | None = None
    """Unless it is being deleted."""
    claim_is_leaving: bool = False
    leaving: list[str] = field(default_factory=list)
    """Everything else, by name: the remains of a deleted consumer."""
    creations: set[str] = field(default_factory=set)
    """Creations with an object left that could write, or could create a pod that does."""

    @property
    def is_there(self) -> bool:
        """Whether the consumer runs, starts or is leaving. A claim alone doesn't count: it waits for the next one."""
        return self.deployment is not None or bool(self.leaving)


class Inventory:
    def __init__(self, api: Api, group: str) -> None:
        self._api, self._group = api, group

    def read(self, consumers: Collection[ConsumerId] | None = None) -> dict[ConsumerId, ConsumerObjects]:
        """Of these consumers, or of all that have any object, by number. Raises ApiError."""
        found: dict[ConsumerId, ConsumerObjects] = {consumer: ConsumerObjects() for consumer in consumers or ()}
        if consumers is not None and not consumers:
            return found
        labels = selector(self._group, consumers)
        items: tuple[Item, ...] = (
            *self._api.list(Deployment, labels).items,
            *self._api.list(ReplicaSet, labels).items,
            *self._api.list(Pod, labels).items,
            *self._api.list(PersistentVolumeClaim, labels).items,
        )
        for item in items:
            consumer = consumer_of(item)
            if consumer is not None:
                _add(found.setdefault(consumer, ConsumerObjects()), item)
        return dict(sorted(found.items()))


def selector(group: str, consumers: Collection[ConsumerId] | None = None) -> str:
    labels = f"app.kubernetes.io/component=consumer,{names.GROUP}={group}"
    if consumers is None:
        return labels
    return f"{labels},{names.CONSUMER} in ({','.join(map(str, sorted(consumers)))})"


def consumer_of(item: Item) -> ConsumerId | None:
    number = label_of(item, names.CONSUMER)
    return ConsumerId(int(number)) if number.isdecimal() else None


def label_of(item: Item, label: str) -> str:
    labels: dict[str, str] = metadata_of(item).labels or {}
    return labels.get(label, "")


def is_leaving(item: Item) -> bool:
    return metadata_of(item).deletionTimestamp is not None


def _add(objects: ConsumerObjects, item: Item) -> None:
    """Called with a Deployment before the objects it owns."""
    creation = label_of(item, names.CREATION)
    if not isinstance(item, PersistentVolumeClaim):
        objects.creations.add(creation)
    match item:
        case Deployment() if not is_leaving(item):
            objects.deployment = item
        case PersistentVolumeClaim() if not is_leaving(item):
            objects.claim = item
        case ReplicaSet() | Pod() if objects.deployment and label_of(objects.deployment, names.CREATION) == creation:
            pass
        case _:
            objects.claim_is_leaving |= isinstance(item, PersistentVolumeClaim)
            objects.leaving.append(f"{type(item).__name__} {metadata_of(item).name}")
