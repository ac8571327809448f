"""The test cluster's node: pods really run, and leave nothing behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from lightkube import Client
from lightkube.models.core_v1 import (
    Container,
    EmptyDirVolumeSource,
    EnvVar,
    EnvVarSource,
    ObjectFieldSelector,
    PersistentVolumeClaimVolumeSource,
    SecurityContext,
    Volume,
    VolumeMount,
)
from lightkube.resources.core_v1 import Pod
from tests.support.kubernetes import owner
from tests.support.kubernetes.cluster.control_plane import ControlPlane
from tests.support.kubernetes.cluster.node import Node
from tests.support.kubernetes.pods import claim, is_gone, phase, pod

from restow.platform.processes.linux import Process, descendants, is_alive

Eventually = Callable[..., None]

ENDS_ON_SIGTERM = """
trap 'echo ended >> /volume/story; exit 0' TERM
echo "$NAME" >> /volume/story
while true; do sleep 0.1; done
"""


def test_a_pod_keeps_its_name_and_claim_through_a_crash_and_ends_on_sigterm(
    control_plane: ControlPlane, node: Node, client: Client, namespace: str, eventually: Eventually
) -> None:
    client.create(claim("claim"))
    shell = Container(
        name="shell",
        image=node.busybox,
        command=["sh", "-c", ENDS_ON_SIGTERM],
        env=[EnvVar("NAME", valueFrom=EnvVarSource(fieldRef=ObjectFieldSelector("metadata.name")))],
        securityContext=SecurityContext(runAsUser=node.user, runAsNonRoot=True),
        volumeMounts=[VolumeMount("/volume", "volume")],
    )
    volume = Volume("volume", persistentVolumeClaim=PersistentVolumeClaimVolumeSource("claim"))
    client.create(pod(shell, volume))
    eventually(lambda: phase(client, "shell") == "Running", within_s=60)
    story = control_plane.volume("claim", namespace) / "story"
    eventually(lambda: story.exists() and story.read_text() == "shell\n")
    os.kill(node.processes(client.get(Pod, "shell"), "shell")[0], signal.SIGKILL)
    eventually(lambda: story.read_text() == "shell\nshell\n", within_s=60)
    client.delete(Pod, "shell")
    eventually(lambda: is_gone(client, "shell"), within_s=60)
    assert story.read_text() == "shell\nshell\nended\n"


def test_restow_runs_in_a_pod_without_root_on_a_read_only_file_system(
    node: Node, client: Client, eventually: Eventually
) -> None:
    restow = Container(
        name="restow",
        image=node.restow,
        args=["--version"],
        securityContext=SecurityContext(readOnlyRootFilesystem=True, runAsNonRoot=True),
        volumeMounts=[VolumeMount("/tmp", "temporary")],
    )
    client.create(pod(restow, Volume("temporary", emptyDir=EmptyDirVolumeSource()), restart="Never"))
    eventually(lambda: phase(client, "restow") in ("Succeeded", "Failed"), within_s=60)
    lines = list(client.log("restow"))
    here = subprocess.run([sys.executable, "-m", "restow", "--version"], capture_output=True, text=True, check=True)
    assert lines == [here.stdout]
    assert phase(client, "restow") == "Succeeded"


def test_nothing_is_left_when_the_owner_of_a_cluster_is_killed(node: Node, eventually: Eventually) -> None:
    del node  # only for the skip where no node can run
    command = [sys.executable, owner.__file__]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as killed:
        try:
            assert killed.stdout is not None
            home = Path(killed.stdout.readline().strip())
            started = {child: name_of(child) for child in descendants(killed.pid)}
            assert {"containerd", "containerd-shim", "etcd", "sleep"} <= set(started.values())
            assert home.is_dir()
            assert cgroups_of(home)
        finally:
            killed.kill()
    eventually(lambda: not any(is_alive(child) for child in started), within_s=60)
    eventually(lambda: not home.exists() and not cgroups_of(home), within_s=60)
    assert home.name not in Path("/proc/mounts").read_text()


def name_of(process: Process) -> str:
    try:
        return Path("/proc", str(process.pid), "comm").read_text().strip()
    except OSError:
        return ""  # it has just ended


def cgroups_of(home: Path) -> list[Path]:
    return [*Path("/sys/fs/cgroup").glob(f"**/{home.name}")]
