"""What a watched Deployment or pod says about its consumer: whether its process runs, and if not, why. Pure.

`watching.py` reads them off the objects; `change_tracker.py` reports what is new in them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from lightkube.models.core_v1 import ContainerState, ContainerStatus, PodStatus
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Pod

from restow.model import ConsumerId
from restow.platform.kubernetes.api import metadata_of
from restow.platform.kubernetes.inventory import Item, consumer_of, is_leaving, label_of
from restow.platform.kubernetes.names import CONTAINER, CREATION

STILL_STARTING: Final = ("ContainerCreating", "PodInitializing", "ErrImagePull")
"""Reasons to wait that are no failures yet. A failed image pull is retried, and becomes ImagePullBackOff."""
FINISHED: Final = ("Succeeded", "Failed")
LONGEST_REASON: Final = 300


@dataclass(frozen=True, slots=True)
class ObjectStatus:
    uid: str
    consumer: ConsumerId
    creation: str
    """Of the consumer."""
    up: int | None = None
    """The restart count of the process that runs; None if none does."""
    ended: tuple[int, str] | None = None
    """How many processes of the pod have ended, and how the last one did; None if none has."""
    failing: tuple[int, str] | None = None
    """The restart count of the process that fails, and why."""
    unschedulable: str | None = None
    """Why no node can take the pod. No failure: a node may be on its way."""


def deployment_status(deployment: Deployment) -> ObjectStatus | None:
    """Returns None if the object is no consumer's."""
    consumer = consumer_of(deployment)
    if consumer is None:
        return None
    conditions = (deployment.status.conditions if deployment.status else None) or []
    refusals = [each for each in conditions if (each.type, each.status) == ("ReplicaFailure", "True")]
    failing = None
    if refusals and not is_leaving(deployment):
        failing = (0, _shortened(f"its pod is refused: {refusals[0].message or refusals[0].reason}"))
    return ObjectStatus(uid_of(deployment), consumer, label_of(deployment, CREATION), failing=failing)


def pod_status(pod: Pod) -> ObjectStatus | None:
    """Returns None if the object is no consumer's. A pod that ends or has ended is only known to exist."""
    consumer = consumer_of(pod)
    if consumer is None:
        return None
    uid, creation, status = uid_of(pod), label_of(pod, CREATION), pod.status
    if status is None or is_leaving(pod) or status.phase in FINISHED:
        return ObjectStatus(uid, consumer, creation)
    own = next((each for each in status.containerStatuses or () if each.name == CONTAINER), None)
    up = own.restartCount if own and own.state and own.state.running else None
    failing = None if up is not None else _failing([*(status.initContainerStatuses or ()), *([own] if own else ())])
    return ObjectStatus(uid, consumer, creation, up, _ended_of(own), failing, _unschedulable(status))


def _ended_of(own: ContainerStatus | None) -> tuple[int, str] | None:
    """The restart count has the processes that ended and were followed by another."""
    if own is None:
        return None
    if own.state and own.state.terminated:
        return own.restartCount + 1, _shortened(_ended(own.state) or "")
    return (own.restartCount, _shortened(_ended(own.lastState) or "it ended")) if own.restartCount else None


def _failing(statuses: Iterable[ContainerStatus]) -> tuple[int, str] | None:
    for each in statuses:
        waiting = each.state.waiting if each.state else None
        if waiting and waiting.reason and waiting.reason not in STILL_STARTING:
            ended = _ended(each.lastState)
            detail = waiting.message if not ended or waiting.reason != "CrashLoopBackOff" else ended
            return each.restartCount, _shortened(": ".join(filter(None, (waiting.reason, detail))))
    return None


def _ended(state: ContainerState | None) -> str | None:
    """How the previous process ended, and the last line of its log."""
    last = state.terminated if state else None
    if last is None:
        return None
    how = f"it ended with {'signal' if last.signal else 'code'} {last.signal or last.exitCode}"
    why = f" ({last.reason})" if last.reason and last.reason not in ("Error", "Completed") else ""
    last_line = (last.message or "").strip().rpartition("\n")[2]
    return f"{how}{why}; its log ends: {last_line}" if last_line else f"{how}{why}"


def _unschedulable(status: PodStatus) -> str | None:
    for each in status.conditions or ():
        if each.type == "PodScheduled" and each.status == "False":
            return _shortened(each.message or each.reason or "no node can take it")
    return None


def uid_of(item: Item) -> str:
    uid = metadata_of(item).uid
    assert uid is not None, "every object of the API server has a uid"
    return uid


def _shortened(text: str) -> str:
    return " ".join(text.split())[:LONGEST_REASON]
