"""Small claims and pods for tests."""

from lightkube import Client
from lightkube.models.core_v1 import (
    Container,
    PersistentVolumeClaimSpec,
    PodSpec,
    Volume,
    VolumeResourceRequirements,
)
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import PersistentVolumeClaim, Pod


def claim(name: str) -> PersistentVolumeClaim:
    wanted = VolumeResourceRequirements(requests={"storage": "1Mi"})
    spec = PersistentVolumeClaimSpec(accessModes=["ReadWriteOnce"], resources=wanted)
    return PersistentVolumeClaim(metadata=ObjectMeta(name=name), spec=spec)


def pod(container: Container, *volumes: Volume, restart: str = "Always") -> Pod:
    """Named as its container, on this machine's network."""
    spec = PodSpec(containers=[container], hostNetwork=True, restartPolicy=restart, volumes=list(volumes))
    return Pod(metadata=ObjectMeta(name=container.name), spec=spec)


def phase(client: Client, name: str) -> str | None:
    status = client.get(Pod, name).status
    return status.phase if status else None


def is_gone(client: Client, name: str) -> bool:
    return name not in [found.metadata.name for found in client.list(Pod) if found.metadata]
