"""The configuration files of containerd, the kubelet and node_process.py. `node.py` writes them."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.kubernetes.cluster import images, node_process
from tests.support.kubernetes.cluster.commands import VOLUMES, Place
from tests.support.kubernetes.cluster.tools import NodeTools

from restow.kafka.embedded.ports import LOOPBACK, choose_ports


@dataclass(frozen=True, slots=True)
class NodeSettings:
    place: Place
    tools: NodeTools
    name: str
    kubeconfig: Path

    @property
    def home(self) -> Path:
        return self.place.home / "node"

    @property
    def cgroup(self) -> str:
        return self.place.home.name

    def write(self) -> Path:
        """Writes all files; returns the one for node_process.py, which names the others."""
        for name in ("containerd", "kernel", "kubelet", "log", "run", "network"):
            (self.home / name).mkdir(parents=True)
        for name, value in KERNEL.items():
            self._kernel(name).write_text(f"{value}\n")
        images.write_archive(self.home / "images.tar", self.tools.busybox)
        (self.home / "resolv.conf").touch()
        self._write("containerd.toml", self._containerd())
        self._write("spec.json", json.dumps(self._base_spec()))
        self._write("kubelet.json", json.dumps(self._kubelet()))
        self._write("network/10-none.conflist", json.dumps(NETWORK))
        return self._write("node.json", json.dumps(self._processes()))

    def _write(self, name: str, text: str) -> Path:
        path = self.home / name
        path.write_text(text)
        return path

    def _processes(self) -> dict[str, object]:
        """What node_process.py does."""
        ctr = (self.tools.ctr, "--namespace", "k8s.io")
        return {
            "cgroup": self.cgroup,
            "directories": {
                str(self.place.volumes): str(VOLUMES),
                str(self.home / "kubelet"): "/var/lib/kubelet",
                str(self.home / "log"): "/var/log",
                str(self.home / "run"): "/run/containerd",
            },
            "files": {
                str(self._kernel(name)): f"/proc/sys/{name}" for name in KERNEL if Path("/proc/sys", name).exists()
            },
            "logs": {name: str(self.place.home / f"{name}.log") for name in ("containerd", "kubelet")},
            "containerd": (self.tools.containerd, "--config", str(self.home / "containerd.toml")),
            "ask": (*ctr, "version"),
            "import": (*ctr, "images", "import", "--snapshotter", "native", str(self.home / "images.tar")),
            "kubelet": (
                *(str(self.place.hyperkube), "kubelet"),
                *(f"--config={self.home / 'kubelet.json'}", f"--kubeconfig={self.kubeconfig}"),
                f"--hostname-override={self.name}",
            ),
        }

    def _kernel(self, name: str) -> Path:
        return self.home / "kernel" / name.replace("/", ".")

    def _containerd(self) -> str:
        return CONTAINERD.format(
            root=self.home / "containerd",
            pause=images.PAUSE,
            network=self.home / "network",
            spec=self.home / "spec.json",
            runc=self.tools.runc,
        )

    def _base_spec(self) -> object:
        """containerd's default container spec, plus this machine's own programs, read-only."""
        spec = json.loads(subprocess.run([self.tools.ctr, "oci", "spec"], capture_output=True, check=True).stdout)
        options = ["rbind", "ro", "rprivate"]
        spec["mounts"] += [
            {"destination": str(images.inside(path)), "source": str(path), "type": "bind", "options": options}
            for path in images.host_directories()
        ]
        return spec

    def _kubelet(self) -> object:
        [port] = choose_ports(1)
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": LOOPBACK,
            "port": port,
            "healthzPort": 0,
            "tlsCertFile": str(self.place.server.certificate),
            "tlsPrivateKeyFile": str(self.place.server.key),
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(self.place.authority.root.certificate)},
            },
            "authorization": {"mode": "Webhook"},
            "containerRuntimeEndpoint": f"unix://{node_process.SOCKET}",
            "resolvConf": str(self.home / "resolv.conf"),
            "cgroupRoot": f"/{self.cgroup}",
            "cgroupDriver": "cgroupfs",
            "failSwapOn": False,
            # Works without all of root's capabilities, and leaves this machine's settings alone.
            "oomScoreAdj": 0,
            "makeIPTablesUtilChains": False,
            # Tests must not depend on how full this machine's disk is.
            "evictionHard": {"memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%"},
            "imageGCHighThresholdPercent": 100,
            "serializeImagePulls": False,
        }


KERNEL = {
    "kernel/keys/root_maxbytes": 25_000_000,
    "kernel/keys/root_maxkeys": 1_000_000,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
}
"""Kernel parameters that a kubelet requires, and would set for the whole machine. Instead it sees files with these
values."""

NETWORK = {"cniVersion": "1.0.0", "name": "none", "plugins": [{"type": "loopback"}]}
"""Not used: pods have the machine's own network. But a node without one never becomes ready."""

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
