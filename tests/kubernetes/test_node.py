"""What the tests of this folder stand on: that pods really run, and that nothing of them stays."""

import subprocess
import sys
from collections.abc import Callable

from lightkube import Client
from lightkube.models.core_v1 import (
    Container,
    EmptyDirVolumeSource,
    EnvVar,
    EnvVarSource,
    ObjectFieldSelector,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimVolumeSource,
    PodSecurityContext,
    PodSpec,
    SecurityContext,
    Volume,
    VolumeMount,
    VolumeResourceRequirements,
)
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import PersistentVolumeClaim, Pod
from tests.kubernetes.cluster.control_plane import ControlPlane
from tests.kubernetes.cluster.node import Node

Eventually = Callable[..., None]

ENDS_WHEN_TOLD = """
trap 'echo told >> /volume/story; exit 0' TERM
echo "$NAME" > /volume/story
while true; do sleep 0.1; done
"""


def phase(client: Client, pod: str) -> str | None:
    status = client.get(Pod, pod).status
    return status.phase if status else None


def is_gone(client: Client, pod: str) -> bool:
    return pod not in [found.metadata.name for found in client.list(Pod) if found.metadata]


def test_a_pod_knows_its_name_writes_to_its_claim_and_ends_when_it_is_told(
    control_plane: ControlPlane, node: Node, client: Client, namespace: str, eventually: Eventually
) -> None:
    wanted = VolumeResourceRequirements(requests={"storage": "1Mi"})
    claim = PersistentVolumeClaimSpec(accessModes=["ReadWriteOnce"], resources=wanted)
    client.create(PersistentVolumeClaim(metadata=ObjectMeta(name="claim"), spec=claim))
    name = EnvVar("NAME", valueFrom=EnvVarSource(fieldRef=ObjectFieldSelector("metadata.name")))
    shell = Container(
        name="shell",
        image=node.busybox,
        command=["sh", "-c", ENDS_WHEN_TOLD],
        env=[name],
        volumeMounts=[VolumeMount("/volume", "volume")],
    )
    spec = PodSpec(
        containers=[shell],
        hostNetwork=True,
        securityContext=PodSecurityContext(runAsUser=node.user, runAsNonRoot=True),
        volumes=[Volume("volume", persistentVolumeClaim=PersistentVolumeClaimVolumeSource("claim"))],
    )
    client.create(Pod(metadata=ObjectMeta(name="pod"), spec=spec))
    eventually(lambda: phase(client, "pod") == "Running", within_s=60)
    story = control_plane.volume("claim", namespace) / "story"
    eventually(lambda: story.exists() and story.read_text() == "pod\n")
    client.delete(Pod, "pod")
    eventually(lambda: is_gone(client, "pod"), within_s=60)
    assert story.read_text() == "pod\ntold\n"


def test_restow_runs_in_a_pod_without_root_on_a_file_system_it_cannot_change(
    node: Node, client: Client, eventually: Eventually
) -> None:
    restow = Container(
        name="restow",
        image=node.restow,
        args=["--version"],
        securityContext=SecurityContext(readOnlyRootFilesystem=True, runAsNonRoot=True),
        volumeMounts=[VolumeMount("/tmp", "temporary")],
    )
    temporary = Volume("temporary", emptyDir=EmptyDirVolumeSource())
    spec = PodSpec(containers=[restow], hostNetwork=True, restartPolicy="Never", volumes=[temporary])
    client.create(Pod(metadata=ObjectMeta(name="pod"), spec=spec))
    eventually(lambda: phase(client, "pod") in ("Succeeded", "Failed"), within_s=60)
    said = list(client.log("pod"))
    here = subprocess.run([sys.executable, "-m", "restow", "--version"], capture_output=True, text=True, check=True)
    assert said == [here.stdout]
    assert phase(client, "pod") == "Succeeded"
