"""What watched Deployments and pods say of a consumer: whether its process runs, and if not, why. Pure.

`watching.py` makes these of what it reads, `telling.py` tells what is new in them.
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
"""Reasons to wait that are no failures yet. An image that can't be fetched once is tried again, and told then."""
FINISHED: Final = ("Succeeded", "Failed")
LONGEST_REASON: Final = 300


@dataclass(frozen=True, slots=True)
class Seen:
    uid: str
    consumer: ConsumerId
    creation: str
    """Of the consumer."""
    up: int | None = None
    """If its process runs: which one of this pod, counted from 0."""
    failing: tuple[int, str] | None = None
    """If it fails: which of its processes, and why."""
    waits: str | None = None
    """If no node can take it: why. One may be on its way, so that this is no failure."""


def deployment_seen(deployment: Deployment) -> Seen | None:
    consumer = consumer_of(deployment)
    if consumer is None:
        return None
    conditions = (deployment.status.conditions if deployment.status else None) or []
    refusals = [each for each in conditions if (each.type, each.status) == ("ReplicaFailure", "True")]
    failing = None
    if refusals and not is_leaving(deployment):
        failing = (0, _shortened(f"its pod is refused: {refusals[0].message or refusals[0].reason}"))
    return Seen(uid_of(deployment), consumer, label_of(deployment, CREATION), failing=failing)


def pod_seen(pod: Pod) -> Seen | None:
    """A pod that is ending, or has ended, says nothing any more of how its consumer does, only that it is there."""
    consumer = consumer_of(pod)
    if consumer is None:
        return None
    uid, creation, status = uid_of(pod), label_of(pod, CREATION), pod.status
    if status is None or is_leaving(pod) or status.phase in FINISHED:
        return Seen(uid, consumer, creation)
    own = next((each for each in status.containerStatuses or () if each.name == CONTAINER), None)
    up = own.restartCount if own and own.state and own.state.running else None
    failing = None if up is not None else _failing([*(status.initContainerStatuses or ()), *([own] if own else ())])
    return Seen(uid, consumer, creation, up, failing, _waits(status))


def _failing(statuses: Iterable[ContainerStatus]) -> tuple[int, str] | None:
    for each in statuses:
        waiting = each.state.waiting if each.state else None
        if waiting and waiting.reason and waiting.reason not in STILL_STARTING:
            ended = _ended(each.lastState)
            words = waiting.message if not ended or waiting.reason != "CrashLoopBackOff" else ended
            return each.restartCount, _shortened(": ".join(filter(None, (waiting.reason, words))))
    return None


def _ended(state: ContainerState | None) -> str | None:
    """How the process before ended, with the end of what it said."""
    last = state.terminated if state else None
    if last is None:
        return None
    how = f"it ended with {'signal' if last.signal else 'code'} {last.signal or last.exitCode}"
    why = f" ({last.reason})" if last.reason and last.reason not in ("Error", "Completed") else ""
    said = (last.message or "").strip().rpartition("\n")[2]
    return f"{how}{why}; its log ends: {said}" if said else f"{how}{why}"


def _waits(status: PodStatus) -> str | None:
    for each in status.conditions or ():
        if each.type == "PodScheduled" and each.status == "False":
            return _shortened(each.message or each.reason or "no node can take it")
    return None


def uid_of(item: Item) -> str:
    uid = metadata_of(item).uid
    assert uid is not None, "the API server gives each object one"
    return uid


def _shortened(words: str) -> str:
    return " ".join(words.split())[:LONGEST_REASON]
