"""A real node: a kubelet with containerd and runc, which runs the cluster's pods on this machine. Needs root.

    with Node(control_plane) as node:
        ...  # pods with node.busybox or node.restow as their image, and hostNetwork, run

What it starts and mounts lives in namespaces of its own (node_process.py) and ends with its owner, however that ends.
"""

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from httpx2 import HTTPError
from lightkube import ApiError
from lightkube.resources.core_v1 import Node as NodeObject
from lightkube.resources.core_v1 import Pod
from tests.kubernetes.cluster import images, node_process
from tests.kubernetes.cluster.commands import CONSUMER_USER, VOLUMES
from tests.kubernetes.cluster.control_plane import NODE, NODE_NAME, ControlPlane
from tests.kubernetes.cluster.tools import NodeTools

from restow.kafka.ports import LOOPBACK, choose_ports

STOP_WITHIN_S = 90.0
"""Control groups are removed one by one, when the last process in them is gone."""


class Node:
    name = NODE_NAME
    busybox = images.BUSYBOX
    restow = images.RESTOW
    user = CONSUMER_USER
    """Whom claims' volumes belong to: pods that run as it can write to them."""

    def __init__(self, control_plane: ControlPlane, tools: NodeTools) -> None:
        self._control_plane, self._tools = control_plane, tools
        self._home = control_plane.place.home / "node"
        self._program = control_plane.program("node", self._prepare())

    def __enter__(self) -> Self:
        self._program.start()
        try:
            self._program.wait_until(self._is_ready, "ready")
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends every pod, as a power cut would."""
        self._program.ask_to_stop()
        self._program.wait_for_stop(STOP_WITHIN_S)

    def check(self) -> None:
        self._program.check()

    def processes(self, pod: Pod, container: str) -> tuple[int, ...]:
        """Those of a container of the pod, as this machine numbers them: the one that was started first, and what it
        has started. Killing the first is a crash."""
        statuses = (pod.status and pod.status.containerStatuses) or []
        ids = [str(status.containerID).rpartition("/")[2] for status in statuses if status.name == container]
        top = node_process.cgroup_tops()[0] / self._cgroup
        lines = [file.read_text().split() for name in ids for file in top.glob(f"**/{name}/cgroup.procs")]
        return tuple(sorted((int(number) for numbers in lines for number in numbers), key=_number_inside))

    def empty_dir(self, pod: Pod, volume: str) -> Path:
        """Where on this machine a pod's `emptyDir` is, as long as there is the pod."""
        assert pod.metadata is not None
        return self._home / "kubelet" / "pods" / str(pod.metadata.uid) / "volumes" / "kubernetes.io~empty-dir" / volume

    def printed(self, pod: Pod, container: str) -> tuple[Path, ...]:
        """Files with what a container of a pod printed, one for each time that it was started, as long as there is the
        pod. Of those that ended the last one's is kept."""
        meta = pod.metadata
        assert meta is not None
        directory = self._home / "log" / "pods" / f"{meta.namespace}_{meta.name}_{meta.uid}" / container
        return tuple(sorted(directory.glob("*.log"), key=lambda file: int(file.stem)))

    def _is_ready(self) -> bool:
        with self._control_plane.admin() as client:
            try:
                node = client.get(NodeObject, self.name)
            except (ApiError, HTTPError):
                return False
        conditions = (node.status and node.status.conditions) or []
        return any(condition.type == "Ready" and condition.status == "True" for condition in conditions)

    def _prepare(self) -> tuple[str, ...]:
        for name in ("containerd", "kernel", "kubelet", "log", "run", "network"):
            (self._home / name).mkdir(parents=True)
        for name, value in KERNEL.items():
            self._kernel(name).write_text(f"{value}\n")
        images.write_archive(self._home / "images.tar", self._tools.busybox)
        (self._home / "resolv.conf").touch()
        self._write("containerd.toml", self._containerd())
        self._write("spec.json", json.dumps(self._base_spec()))
        self._write("kubelet.json", json.dumps(self._kubelet()))
        self._write("network/10-none.conflist", json.dumps(NETWORK))
        settings = self._write("node.json", json.dumps(self._settings()))
        return (sys.executable, "-I", "-S", node_process.__file__, "outside", str(settings))

    def _write(self, name: str, text: str) -> Path:
        path = self._home / name
        path.write_text(text)
        return path

    def _settings(self) -> dict[str, object]:
        """What node_process.py does."""
        kubeconfig = self._control_plane.kubeconfig_of(NODE)
        ctr = (self._tools.ctr, "--namespace", "k8s.io")
        return {
            "cgroup": self._cgroup,
            "directories": {
                str(self._control_plane.place.volumes): str(VOLUMES),
                str(self._home / "kubelet"): "/var/lib/kubelet",
                str(self._home / "log"): "/var/log",
                str(self._home / "run"): "/run/containerd",
            },
            "files": {str(self._kernel(name)): f"/proc/sys/{name}" for name in KERNEL},
            "logs": {name: str(self._control_plane.place.home / f"{name}.log") for name in ("containerd", "kubelet")},
            "containerd": (self._tools.containerd, "--config", str(self._home / "containerd.toml")),
            "ask": (*ctr, "version"),
            "import": (*ctr, "images", "import", "--snapshotter", "native", str(self._home / "images.tar")),
            "kubelet": (
                *(str(self._control_plane.place.hyperkube), "kubelet"),
                *(f"--config={self._home / 'kubelet.json'}", f"--kubeconfig={kubeconfig}"),
                f"--hostname-override={self.name}",
            ),
        }

    def _kernel(self, name: str) -> Path:
        return self._home / "kernel" / name.replace("/", ".")

    @property
    def _cgroup(self) -> str:
        return self._control_plane.place.home.name

    def _containerd(self) -> str:
        return CONTAINERD.format(
            root=self._home / "containerd",
            pause=images.PAUSE,
            network=self._home / "network",
            spec=self._home / "spec.json",
            runc=self._tools.runc,
        )

    def _base_spec(self) -> object:
        """What containerd begins a container with, and this machine's own programs, read-only."""
        spec = json.loads(subprocess.run([self._tools.ctr, "oci", "spec"], capture_output=True, check=True).stdout)
        spec["mounts"] += [
            {"destination": str(path), "source": str(path), "type": "bind", "options": ["rbind", "ro", "rprivate"]}
            for path in images.host_directories()
        ]
        return spec

    def _kubelet(self) -> object:
        place = self._control_plane.place
        [port] = choose_ports(1)
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": LOOPBACK,
            "port": port,
            "healthzPort": 0,
            "tlsCertFile": str(place.server.certificate),
            "tlsPrivateKeyFile": str(place.server.key),
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(place.authority.root.certificate)},
            },
            "authorization": {"mode": "Webhook"},
            "containerRuntimeEndpoint": f"unix://{node_process.SOCKET}",
            "resolvConf": str(self._home / "resolv.conf"),
            "cgroupRoot": f"/{self._cgroup}",
            "cgroupDriver": "cgroupfs",
            "failSwapOn": False,
            # It does with less than all of root's rights, and leaves this machine's own settings alone.
            "oomScoreAdj": 0,
            "makeIPTablesUtilChains": False,
            # How full this machine's disk is, is none of the tests' business.
            "evictionHard": {"memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%"},
            "imageGCHighThresholdPercent": 100,
            "serializeImagePulls": False,
        }


def _number_inside(process: int) -> int:
    """What the process is called in its container: the first one there is 1."""
    try:
        status = Path("/proc", str(process), "status").read_text()
    except OSError:
        return sys.maxsize  # it has just ended
    [numbers] = [line.split() for line in status.splitlines() if line.startswith("NSpid:")]
    return int(numbers[-1])


KERNEL = {
    "kernel/keys/root_maxbytes": 25_000_000,
    "kernel/keys/root_maxkeys": 1_000_000,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
}
"""The kernel's parameters that a kubelet insists on, and would set. They are everybody's on this machine, so it gets to
see files that have the values it wants."""

NETWORK = {"cniVersion": "1.0.0", "name": "none", "plugins": [{"type": "loopback"}]}
"""Never asked for anything: pods use the machine's own network. Without one, no node becomes ready."""

CONTAINERD = """\
version = 2
root = "{root}"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.tracing.processor.v1.otlp"]

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    conf_dir = "{network}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      base_runtime_spec = "{spec}"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "{runc}"
"""
