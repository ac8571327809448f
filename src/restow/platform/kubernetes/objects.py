"""A consumer's Deployment and the claim on its volume. Pure.

The platform creates and replaces them. docs/kubernetes.md has the reasons for each field.
"""

import hashlib
import json

from lightkube.models.apps_v1 import DeploymentSpec, DeploymentStrategy
from lightkube.models.core_v1 import EnvVar, PersistentVolumeClaimSpec, VolumeResourceRequirements
from lightkube.models.meta_v1 import LabelSelector, ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import PersistentVolumeClaim

from restow.model import ConsumerId
from restow.platform.kubernetes import names
from restow.platform.kubernetes.pods import pod_template
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.platform_identity import PlatformIdentity
from restow.settings import Kubernetes, Settings


def deployment(
    settings: Settings,
    consumer: ConsumerId,
    wanted: ConsumerSettings,
    creation: str,
    restarted: str,
    platform: PlatformIdentity | None = None,
) -> Deployment:
    """`creation` stays the same through restarts; `restarted` is new for each. `platform` is what the consumer reports
    as its own; it is no pod setting, so that `digest` leaves it out."""
    group = settings.group.name
    selected = {names.GROUP: group, names.CONSUMER: str(consumer), names.CREATION: creation}
    labels = {**_labels(group, consumer), names.CREATION: creation}
    template = pod_template(settings, consumer, wanted)
    assert template.metadata is not None
    assert template.spec is not None
    if platform is not None:
        [container] = [each for each in template.spec.containers if each.name == names.CONTAINER]
        value = names.platform_variable(platform).replace("$", "$$")  # Kubernetes reads $(NAME) as a reference
        container.env = [
            *(each for each in container.env or [] if each.name != names.PLATFORM),
            EnvVar(names.PLATFORM, value),
        ]
    template.metadata.labels = {**(template.metadata.labels or {}), **labels}
    template.metadata.annotations = {**(template.metadata.annotations or {}), names.RESTARTED: restarted}
    return Deployment(
        apiVersion="apps/v1",
        kind="Deployment",
        metadata=ObjectMeta(
            name=names.consumer_name(group, consumer),
            labels=labels,
            annotations={names.SETTINGS: wanted.fingerprint, names.TEMPLATE: digest(settings)},
        ),
        spec=DeploymentSpec(
            replicas=1,
            strategy=DeploymentStrategy(type="Recreate"),
            revisionHistoryLimit=0,
            selector=LabelSelector(matchLabels=selected),
            template=template,
        ),
    )


def claim(settings: Settings, consumer: ConsumerId) -> PersistentVolumeClaim:
    group, kubernetes = settings.group.name, settings.kubernetes
    return PersistentVolumeClaim(
        apiVersion="v1",
        kind="PersistentVolumeClaim",
        metadata=ObjectMeta(name=names.consumer_name(group, consumer), labels=_labels(group, consumer)),
        spec=claim_spec(kubernetes, kubernetes.access_mode, kubernetes.volume_gb),
    )


def claim_spec(kubernetes: Kubernetes, access_mode: str, size_gb: int) -> PersistentVolumeClaimSpec:
    return PersistentVolumeClaimSpec(
        accessModes=[access_mode],
        storageClassName=kubernetes.storage_class,
        resources=VolumeResourceRequirements(requests={"storage": f"{size_gb}Gi"}),
    )


def digest(settings: Settings) -> str:
    """Of the pod template without the consumer's own settings. A pod with another digest has older pod settings."""
    template = pod_template(settings, ConsumerId(1), ConsumerSettings(image="", memory_mb=1, cores=1.0))
    text = json.dumps(template.to_dict(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _labels(group: str, consumer: ConsumerId) -> dict[str, str]:
    name = names.consumer_name(group, consumer)
    return {**names.common_labels(group, "consumer"), names.CONSUMER: str(consumer), names.NAME: name}
