"""Consumers as pods of the tests' own cluster: a namespace for them, and a small real program that runs as one."""

import os
import signal
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from lightkube import Client, KubeConfig
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, PersistentVolumeClaim, Pod
from lightkube.types import PatchType
from tests.support.kubernetes.cluster.control_plane import ControlPlane
from tests.support.kubernetes.cluster.images import BUSYBOX

from restow.model import ConsumerId, SortedMapping
from restow.platform.kubernetes.platform import KubernetesPlatform
from restow.protocol.consumer_settings import ConsumerSettings
from restow.settings import Settings, read_settings

Eventually = Callable[..., None]
GROUP = "a"
ONE, TWO = ConsumerId(1), ConsumerId(2)

PROGRAM = """
case "$BEHAVIOUR" in
  failing) echo one; echo "no table at hand"; exit 3 ;;
  stubborn) trap "" TERM ;;
  *) trap "exit 0" TERM ;;
esac
volume=/var/lib/restow
echo "$RESTOW_CONSUMER $RESTOW_CREATION $(cat /proc/sys/kernel/random/uuid)" > $volume/process.new
mv $volume/process.new $volume/process
echo "user $(id -u), root $(touch /new 2> /run/restow/error && echo writable || echo read-only)" > $volume/rights
touch /run/restow/alive /run/restow/ready
while true; do
  if [ -e $volume/hang ]; then rm $volume/hang; touch -d @0 /run/restow/alive; fi
  sleep 0.1
done
"""


def behaving(behaviour: str, image: str = BUSYBOX) -> ConsumerSettings:
    return ConsumerSettings(image, memory_mb=64, cores=1.0, env=SortedMapping({"BEHAVIOUR": behaviour}))


def settings_of(
    kubeconfig: Path, namespace: str, group: str = GROUP, more: str = "", pod: str = "", container: str = ""
) -> Settings:
    """`more` goes into the table [kubernetes], `pod` and `container` into those of the pod's spec."""
    text = f"""
        [kafka]
        bootstrap = "127.0.0.1:1"
        [group]
        name = "{group}"
        platform = "kubernetes"
        [metrics]
        enabled = false
        [consumer]
        image = "{BUSYBOX}"
        grace_s = 0.5
        [kubernetes]
        kubeconfig = "{kubeconfig}"
        namespace = "{namespace}"
        config_map = "settings"
        access_mode = "ReadWriteOnce"
        {more}
        [kubernetes.pod.spec]
        hostNetwork = true
        terminationGracePeriodSeconds = 5
        {pod}
        [[kubernetes.pod.spec.containers]]
        name = "consumer"
        command = ["sh", "-c", '''{PROGRAM}''']
        resources.requests.cpu = "10m"
        {container}
    """
    return read_settings(text, "restow.toml", {})


NOWHERE = 'nodeSelector = { kept-for = "nobody" }'
"""For pods that should stay unschedulable."""


class KubernetesMaker:
    """A namespace for consumers as pods. See PlatformMaker in tests/support/platform_contract.py."""

    well = behaving("well")
    stubborn = behaving("stubborn")
    failing = behaving("failing")

    def __init__(
        self, control_plane: ControlPlane, namespace: str, client: Client, eventually: Eventually, ending: ExitStack
    ) -> None:
        self.control_plane, self.namespace, self.client = control_plane, namespace, client
        self._eventually, self._ending = eventually, ending
        self.kubeconfig = control_plane.kubeconfig
        client.create(ConfigMap(metadata=ObjectMeta(name="settings"), data={"restow.toml": "# of the test"}))

    def make(self, group: str = GROUP, more: str = "", pod: str = "", container: str = "") -> KubernetesPlatform:
        settings = settings_of(self.kubeconfig, self.namespace, group, more, pod, container)
        return self._ending.enter_context(KubernetesPlatform(settings))

    @property
    def server(self) -> str:
        return KubeConfig.from_file(self.kubeconfig).clusters["test"].server

    def advance(self, condition: Callable[[], object]) -> None:
        self._eventually(condition, within_s=90)

    def process(self, consumer: ConsumerId) -> str | None:
        """What the consumer wrote on its volume, while its container runs."""
        if not any(_runs(pod) for pod in self.pods(consumer)):
            return None
        try:
            return (self.volume(consumer) / "process").read_text()
        except FileNotFoundError:
            return None

    def crash(self, consumer: ConsumerId) -> None:
        """Kills it from outside its container, as the kernel would."""
        name = f"{GROUP}-consumer-{consumer}"
        meta = self.client.get(Deployment, name).metadata
        assert meta is not None
        assert meta.labels is not None
        mark = f"RESTOW_CREATION={meta.labels['restow/creation']}".encode()
        killed = [pid for pid in _processes() if mark in _environment(pid)]
        assert killed
        for pid in killed:
            _kill(pid)

    def write(self, consumer: ConsumerId, text: str) -> None:
        (self.volume(consumer) / "kept").write_text(text)

    def read(self, consumer: ConsumerId) -> str:
        return (self.volume(consumer) / "kept").read_text()

    def volume(self, consumer: ConsumerId) -> Path:
        return self.control_plane.volume(f"{GROUP}-consumer-{consumer}", self.namespace)

    def pods(self, consumer: ConsumerId, group: str = GROUP) -> list[Pod]:
        return list(self.client.list(Pod, labels={"restow/group": group, "restow/consumer": str(consumer)}))

    def claims(self) -> list[str]:
        return [str(claim.metadata and claim.metadata.name) for claim in self.client.list(PersistentVolumeClaim)]


class NowhereMaker(KubernetesMaker):
    """Its pods never get a node: only the control plane is at work."""

    def make(self, group: str = GROUP, more: str = "", pod: str = NOWHERE, container: str = "") -> KubernetesPlatform:
        return super().make(group, more, pod, container)

    def hold(self, consumer: ConsumerId) -> None:
        """Its pod object stays when it is deleted, as it does on a lost node."""
        self.advance(lambda: self.pods(consumer))
        self._set_finalizers(consumer, ["restow.test/held"])

    def release(self, consumer: ConsumerId) -> None:
        self._set_finalizers(consumer, [])

    def _set_finalizers(self, consumer: ConsumerId, finalizers: list[str]) -> None:
        for pod in self.pods(consumer):
            assert pod.metadata is not None
            patch = {"metadata": {"finalizers": finalizers}}
            self.client.patch(Pod, str(pod.metadata.name), patch, patch_type=PatchType.MERGE)


def _runs(pod: Pod) -> bool:
    statuses = (pod.status and pod.status.containerStatuses) or []
    return any(each.state is not None and each.state.running is not None for each in statuses)


def _processes() -> list[int]:
    return sorted(int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
