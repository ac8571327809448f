"""A real node: a kubelet with containerd and runc, which runs the cluster's pods on this machine. Needs root.

    with Node(control_plane) as node:
        ...  # pods with node.busybox or node.restow as their image, and hostNetwork, run

Its processes and mounts are in namespaces of their own (node_process.py) and end with its owner, however that ends.
"""

import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from httpx2 import HTTPError
from lightkube import ApiError
from lightkube.resources.core_v1 import Node as NodeObject
from lightkube.resources.core_v1 import Pod
from tests.support.kubernetes.cluster import images, node_process
from tests.support.kubernetes.cluster.commands import CONSUMER_USER
from tests.support.kubernetes.cluster.control_plane import NODE, NODE_NAME, ControlPlane
from tests.support.kubernetes.cluster.node_settings import NodeSettings
from tests.support.kubernetes.cluster.tools import NodeTools

STOP_WITHIN_S = 90.0
"""Control groups are removed one by one, each after its last process."""


class Node:
    name = NODE_NAME
    busybox = images.BUSYBOX
    restow = images.RESTOW
    user = CONSUMER_USER
    """The owner of volumes: pods that run as this user can write to them."""

    def __init__(self, control_plane: ControlPlane, tools: NodeTools) -> None:
        self._control_plane = control_plane
        self._settings = NodeSettings(control_plane.place, tools, self.name, control_plane.kubeconfig_of(NODE))
        command = (sys.executable, "-I", "-S", node_process.__file__, "outside", str(self._settings.write()))
        self._program = control_plane.program("node", command)

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
        """Kills every pod."""
        self._program.ask_to_stop()
        self._program.wait_for_stop(STOP_WITHIN_S)

    def check(self) -> None:
        self._program.check()

    def processes(self, pod: Pod, container: str) -> tuple[int, ...]:
        """The pids on this machine of a container's processes, its main process first. Killing that one is a crash."""
        statuses = (pod.status and pod.status.containerStatuses) or []
        ids = [str(status.containerID).rpartition("/")[2] for status in statuses if status.name == container]
        top = node_process.cgroup_tops()[0] / self._settings.cgroup
        lines = [file.read_text().split() for name in ids for file in top.glob(f"**/{name}/cgroup.procs")]
        return tuple(sorted((int(number) for numbers in lines for number in numbers), key=_number_inside))

    def empty_dir(self, pod: Pod, volume: str) -> Path:
        """The directory of a pod's `emptyDir` on this machine, while the pod exists."""
        assert pod.metadata is not None
        return (
            self._settings.home
            / "kubelet"
            / "pods"
            / str(pod.metadata.uid)
            / "volumes"
            / "kubernetes.io~empty-dir"
            / volume
        )

    def printed(self, pod: Pod, container: str) -> tuple[Path, ...]:
        """The log files of a container, one for each start, while the pod exists. Of ended ones the last is kept."""
        meta = pod.metadata
        assert meta is not None
        directory = self._settings.home / "log" / "pods" / f"{meta.namespace}_{meta.name}_{meta.uid}" / container
        return tuple(sorted(directory.glob("*.log"), key=lambda file: int(file.stem)))

    def _is_ready(self) -> bool:
        with self._control_plane.admin() as client:
            try:
                node = client.get(NodeObject, self.name)
            except (ApiError, HTTPError):
                return False
        conditions = (node.status and node.status.conditions) or []
        return any(condition.type == "Ready" and condition.status == "True" for condition in conditions)


def _number_inside(process: int) -> int:
    """The pid of the process inside its container; the main process has 1."""
    try:
        status = Path("/proc", str(process), "status").read_text()
    except OSError:
        return sys.maxsize  # it has just ended
    [numbers] = [line.split() for line in status.splitlines() if line.startswith("NSpid:")]
    return int(numbers[-1])
