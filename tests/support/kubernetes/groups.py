"""A whole group in the tests' own cluster, installed with `restow manifests` as an operator would.

The controller creates pods. Kafka runs on this machine, whose network the pods use.
"""

import json
import os
import random
import signal
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from lightkube import Client
from lightkube.codecs import load_all_yaml
from lightkube.core.exceptions import ApiError
from lightkube.models.core_v1 import ContainerStatus
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import PersistentVolumeClaim, Pod
from lightkube.types import CascadeType, PatchType
from tests.support.kubernetes.cluster.control_plane import ControlPlane
from tests.support.kubernetes.cluster.node import Node
from tests.support.kubernetes.printing import OPERATOR, manifests_of
from tests.support.live_groups import Eventually, Group, origin_of

from restow.controller.events import Received
from restow.kafka.admin import Admin
from restow.kafka.embedded.ports import LOOPBACK
from restow.model import ConsumerId
from restow.platform.interface import ConsumerGone
from restow.protocol.messages.consumer_events import ConsumerReady
from restow.settings import Kafka

WHERE = """
[kubernetes]
namespace = "{namespace}"
service_account = "{group}-consumer"
access_mode = "ReadWriteOnce"
alive_within_s = {alive_within_s}
[metrics]
pod_port = {metrics_port}
[page]
enabled = false
[kubernetes.pod.spec]
hostNetwork = true
volumes = [{{ name = "lake", hostPath = {{ path = "{lake}", type = "Directory" }} }}]
[[kubernetes.pod.spec.containers]]
name = "consumer"
volumeMounts = [{{ name = "lake", mountPath = "{lake}" }}]
resources.requests.cpu = "10m"
livenessProbe = {{ periodSeconds = 20, timeoutSeconds = 60 }}
env = [
    {{ name = "KUBERNETES_SERVICE_HOST", value = "{host}" }},
    {{ name = "KUBERNETES_SERVICE_PORT", value = "{port}" }},
]
"""
"""The cluster's service address of the API server isn't routed here, so pods get its real one. The probe's timeout is
long because several test suites may share this machine."""

HELD = "restow.test/held"

Labels = dict[str, Any]


class Place(NamedTuple):
    control_plane: ControlPlane
    node: Node
    namespace: str
    client: Client


class PodGroup(Group):
    """Controller and consumers are pods. Tables have the same path for pods and for the test."""

    platform = "kubernetes"
    consumer = f'pipeline = "light"\nimage = "{Node.restow}"\nmemory_mb = 256'
    patience_s = 300.0
    """A pod is ready in seconds on an idle machine."""
    is_measured = False
    """Whether a monitor runs. Without one, the test publishes the speeds."""

    def __init__(
        self, place: Place, kafka: Kafka, admin: Admin, prefix: str, directory: Path, eventually: Eventually
    ) -> None:
        super().__init__(kafka, admin, prefix, directory, eventually)
        self.metrics_port = random.randrange(10_000, 19_000, 20)
        """Of the monitor; the others follow. Other suites may run on this machine."""
        self._place, self._client = place, place.client
        self._volumes: dict[int, Path] = {}
        self._controller: Pod | None = None
        self._log: Path | None = None
        self.lake = directory / "lake"
        self.lake.mkdir()
        os.chown(self.lake, place.node.user, place.node.user)
        self.table = self.lake / "table.db"
        self.begin()

    def where(self) -> str:
        place = self._place
        return WHERE.format(
            namespace=place.namespace,
            group=self.name,
            lake=self.lake,
            alive_within_s=self.patience_s,
            metrics_port=self.metrics_port,
            host=LOOPBACK,
            port=place.control_plane.place.api_port,
        )

    def wait_until(self, condition: Callable[[], object]) -> None:
        self.eventually(condition, within_s=self.patience_s)

    # Operations.

    def apply(self) -> None:
        """With timeouts so long that no consumer is restarted for being slow."""
        most_s = self.patience_s
        self.write_settings(silent_after_s=most_s, ready_within_s=most_s, answer_within_s=most_s / 2)
        things: list[Any] = list(load_all_yaml(manifests_of(self.config)))
        for thing in things:
            if self.is_measured or not isinstance(thing, Deployment) or name_of(thing) != f"{self.name}-monitor":
                self._client.apply(thing, field_manager=OPERATOR)
        self.wait_until(lambda: self.pods("controller"))
        [self._controller] = self.pods("controller")

    def delete(self, deployment: str) -> None:
        self._client.delete(Deployment, deployment, cascade=CascadeType.FOREGROUND)

    def delete_pod(self, name: str) -> None:
        """Its deployment makes another one, without the back-off of a container that has crashed."""
        with not_found_is_well():
            self._client.delete(Pod, name)

    # Faults.

    def crash_controller(self) -> None:
        """Kills its process; the kubelet starts it again."""
        [pod] = self.pods("controller")
        os.kill(self._place.node.processes(pod, "controller")[0], signal.SIGKILL)

    def crash_container(self, consumer: int) -> None:
        """Kills all processes of the consumer's container; the kubelet starts it again."""
        os.kill(self._place.node.processes(self.pod(consumer), "consumer")[0], signal.SIGKILL)

    def hold_pods(self, *consumers: int) -> None:
        """Deleted pods end, but their objects stay until `release_pods`."""
        for consumer in consumers:
            self._set_finalizers(self.pod(consumer), [HELD])

    def release_pods(self) -> None:
        for pod in self.pods("consumer"):
            if pod.metadata and pod.metadata.finalizers:
                self._set_finalizers(pod, [])

    def _set_finalizers(self, pod: Pod, finalizers: list[str]) -> None:
        patch = {"metadata": {"finalizers": finalizers}}
        self._client.patch(Pod, name_of(pod), patch, patch_type=PatchType.MERGE)

    # What can be observed.

    def pods(self, component: str) -> list[Pod]:
        return list(self._client.list(Pod, labels=self._labels(component)))

    def pod(self, consumer: int) -> Pod:
        [pod] = self.pods_of(consumer)
        return pod

    def pods_of(self, consumer: int) -> list[Pod]:
        """More than one while the next one is created and the last one ends."""
        return list(self._client.list(Pod, labels={"restow/group": self.name, "restow/consumer": str(consumer)}))

    def metrics(self, pod: Pod) -> str:
        """What Prometheus would scrape, at the address that the pod's annotations name."""
        assert pod.metadata is not None
        assert pod.status is not None
        where = pod.metadata.annotations or {}
        address = f"{pod.status.podIP}:{where['prometheus.io/port']}{where['prometheus.io/path']}"
        with urllib.request.urlopen(f"http://{address}", timeout=60) as answer:
            return str(answer.read().decode())

    def claims(self) -> dict[str, str | None]:
        """Of consumers."""
        found = self._client.list(PersistentVolumeClaim, labels=self._labels("consumer"))
        return {name_of(claim): claim.status.phase if claim.status else None for claim in found}

    def is_clean(self, consumer: int) -> bool:
        """Whether the checkpoint on its volume says that it ended cleanly."""
        return bool(json.loads((self.volume(consumer) / "state.json").read_text())["saved"]["clean"])

    def returns(self, consumer: int) -> list[ConsumerReady]:
        """Each ConsumerReady of the consumer that the newest controller received."""
        received = [event for event in self.events("ConsumerReady") if isinstance(event, Received)]
        messages = [heard.message for event in received for heard in event.heard]
        return [each for each in messages if isinstance(each, ConsumerReady) and each.consumer == consumer]

    def reported_gone(self) -> list[ConsumerId]:
        """Each ConsumerGone that the newest controller received."""
        return [event.consumer for event in self.events("ConsumerGone") if isinstance(event, ConsumerGone)]

    def volume(self, consumer: int) -> Path:
        if consumer not in self._volumes:
            claim = f"{self.name}-consumer-{consumer}"
            self._volumes[consumer] = self._place.control_plane.volume(claim, self._place.namespace)
        return self._volumes[consumer]

    def log(self) -> Path:
        if self._log is None and self._controller is not None:
            claim = self._client.get(PersistentVolumeClaim, f"{self.name}-controller")
            if claim.status and claim.status.phase == "Bound":
                self._log = self._place.control_plane.volume(name_of(claim), self._place.namespace) / "events"
        return self._log or self.directory / "nothing"

    def segments(self, controller: int = -1) -> list[Path]:
        """Of the newest controller; with 0, of the first one."""
        found: list[list[Path]] = []
        for file in self.all_segments():
            origin = origin_of(file)
            if not found or origin is None or origin.continues is None:
                found.append([])
            found[-1].append(file)
        return found[controller] if found else []

    def controller_output(self, controller: int = -1) -> str:
        files = self._place.node.printed(self._controller, "controller") if self._controller else ()
        return files[controller].read_text() if files else ""

    def consumer_logs(self) -> Iterable[Path]:
        return [file for pod in self.pods("consumer") for file in self._place.node.printed(pod, "consumer")]

    def end_all(self) -> None:
        """The controller first, or it would recreate what is deleted."""
        self.release_pods()
        for component in ("controller", "monitor", "consumer"):
            for deployment in self._client.list(Deployment, labels=self._labels(component)):
                with not_found_is_well():  # the test has deleted it, and it was still listed
                    self.delete(name_of(deployment))
            self.wait_until(partial(self.is_gone, component))

    def is_gone(self, component: str) -> bool:
        return not self.pods(component)

    def _labels(self, component: str) -> Labels:
        return {"restow/group": self.name, "app.kubernetes.io/component": component}


@contextmanager
def not_found_is_well() -> Iterator[None]:
    try:
        yield
    except ApiError as error:
        if error.status.code != 404:
            raise


def container(pod: Pod) -> ContainerStatus:
    assert pod.status is not None
    [status] = pod.status.containerStatuses or []
    return status


def is_ready(pod: Pod) -> bool:
    statuses = (pod.status and pod.status.containerStatuses) or []
    return any(status.ready for status in statuses)


def ended(pod: Pod) -> int | None:
    """The exit code of its container; None while it runs."""
    state = container(pod).state
    return state.terminated.exitCode if state and state.terminated else None


def name_of(thing: Pod | Deployment | PersistentVolumeClaim) -> str:
    assert thing.metadata is not None
    assert thing.metadata.name is not None
    return thing.metadata.name


def uid_of(pod: Pod) -> str:
    assert pod.metadata is not None
    assert pod.metadata.uid is not None
    return pod.metadata.uid
