"""The pod template of a consumer: container, volumes, security context, probes. Pure.

`objects.py` puts it into a Deployment; `roles.py` uses parts of it for the controller and the monitor.
docs/kubernetes.md has the reasons for each field.
"""

import math
from typing import Final

from lightkube.models.core_v1 import (
    Capabilities,
    ConfigMapVolumeSource,
    Container,
    EmptyDirVolumeSource,
    EnvVar,
    EnvVarSource,
    ObjectFieldSelector,
    PersistentVolumeClaimVolumeSource,
    PodSecurityContext,
    PodSpec,
    PodTemplateSpec,
    ResourceRequirements,
    SeccompProfile,
    SecurityContext,
    Volume,
    VolumeMount,
)
from lightkube.models.meta_v1 import ObjectMeta

from restow.errors import InvalidInput
from restow.model import ConsumerId
from restow.platform.kubernetes import names
from restow.platform.kubernetes.fragments import merged
from restow.platform.kubernetes.probing import FIRST_CONSUMER, Serving, serving
from restow.protocol.consumer_settings import ConsumerSettings
from restow.settings import Kubernetes, Settings

BEYOND_GRACE_S: Final = 5
"""A consumer that needs all of its grace time can still report its end before Kubernetes kills it."""


def pod_template(settings: Settings, consumer: ConsumerId, wanted: ConsumerSettings) -> PodTemplateSpec:
    kubernetes = settings.kubernetes
    served = serving(settings, FIRST_CONSUMER - 1 + consumer)
    base = PodTemplateSpec(
        metadata=ObjectMeta(annotations=dict(served.annotations) or None),
        spec=PodSpec(
            containers=[_container(settings, wanted, served)],
            volumes=_volumes(settings, consumer),
            serviceAccountName=kubernetes.service_account,
            automountServiceAccountToken=False,
            enableServiceLinks=False,
            terminationGracePeriodSeconds=math.ceil(settings.consumer.grace_s) + BEYOND_GRACE_S,
            securityContext=pod_security(kubernetes),
        ),
    )
    template = merged(base, kubernetes.pod)
    assert template.spec is not None
    template.metadata = template.metadata or ObjectMeta()
    [container] = [each for each in template.spec.containers if each.name == names.CONTAINER]
    if container.image != image_of(settings, wanted):
        raise InvalidInput("[kubernetes.pod] sets the consumer's image; write it as [consumer] image")
    container.env = _environment(container.env or [], settings, wanted, served)
    return template


def _container(settings: Settings, wanted: ConsumerSettings, served: Serving) -> Container:
    return Container(
        name=names.CONTAINER,
        image=image_of(settings, wanted),
        command=["restow"],
        args=[
            *("consumer", "--config", f"{names.CONFIG}/restow.toml"),
            *("--name", "$(RESTOW_CONSUMER)", "--volume", names.VOLUME),
        ],
        env=[EnvVar(name="HOME", value=names.SCRATCH)],
        resources=_resources(settings, wanted),
        volumeMounts=[
            VolumeMount(name="config", mountPath=names.CONFIG, readOnly=True),
            VolumeMount(name="volume", mountPath=names.VOLUME),
            VolumeMount(name="scratch", mountPath=names.SCRATCH),
            VolumeMount(name="signs", mountPath=names.SIGNS),
        ],
        ports=served.ports or None,
        livenessProbe=served.liveness,
        readinessProbe=served.readiness,
        securityContext=container_security(),
        terminationMessagePolicy="FallbackToLogsOnError",
    )


def image_of(settings: Settings, wanted: ConsumerSettings) -> str:
    image = wanted.image if wanted.image is not None else settings.consumer.image
    if image is None:
        raise InvalidInput('[consumer] image is missing; name the image that consumers run, as image = "restow:0.1.0"')
    return image


def _environment(given: list[EnvVar], settings: Settings, wanted: ConsumerSettings, served: Serving) -> list[EnvVar]:
    """Variables of restow.toml, of a settings update, and restow's own, each overriding those before. `$` is doubled,
    because Kubernetes reads $(NAME) as a reference."""
    updated = [EnvVar(name=name, value=value.replace("$", "$$")) for name, value in wanted.env.items()]
    own = [
        _from_label("RESTOW_CONSUMER", names.NAME),
        _from_label("RESTOW_CREATION", names.CREATION),
        EnvVar(name="RESTOW_CORES", value=f"{_cores(settings, wanted):g}"),
        EnvVar(name="RESTOW_MEMORY_MB", value=str(_memory_mb(settings, wanted))),
        EnvVar(name="RESTOW_SCRATCH", value=names.SCRATCH),
        EnvVar(name="RESTOW_SIGNS", value=names.SIGNS),
        *served.variables,
    ]
    return list({each.name: each for each in (*given, *updated, *own)}.values())


def _from_label(variable: str, label: str) -> EnvVar:
    source = ObjectFieldSelector(fieldPath=f"metadata.labels['{label}']")
    return EnvVar(name=variable, valueFrom=EnvVarSource(fieldRef=source))


def _cores(settings: Settings, wanted: ConsumerSettings) -> float:
    return wanted.cores if wanted.cores is not None else settings.consumer.cores


def _memory_mb(settings: Settings, wanted: ConsumerSettings) -> int:
    return wanted.memory_mb if wanted.memory_mb is not None else settings.consumer.memory_mb


def _resources(settings: Settings, wanted: ConsumerSettings) -> ResourceRequirements:
    """Requests and limits are the same, because a consumer's capacity was measured with just that."""
    amounts = {
        "cpu": f"{math.ceil(1000 * _cores(settings, wanted))}m",
        "memory": f"{_memory_mb(settings, wanted)}Mi",
    }
    return ResourceRequirements(requests=amounts, limits=dict(amounts))


def _volumes(settings: Settings, consumer: ConsumerId) -> list[Volume]:
    name = names.consumer_name(settings.group.name, consumer)
    return [
        Volume(name="config", configMap=ConfigMapVolumeSource(name=names.config_map_name(settings))),
        Volume(name="volume", persistentVolumeClaim=PersistentVolumeClaimVolumeSource(claimName=name)),
        scratch_volume(settings.kubernetes),
        Volume(name="signs", emptyDir=EmptyDirVolumeSource(medium="Memory", sizeLimit="1Mi")),
    ]


def scratch_volume(kubernetes: Kubernetes) -> Volume:
    return Volume(name="scratch", emptyDir=EmptyDirVolumeSource(sizeLimit=f"{kubernetes.scratch_gb}Gi"))


def pod_security(kubernetes: Kubernetes) -> PodSecurityContext:
    user = kubernetes.user_id or None
    return PodSecurityContext(
        runAsNonRoot=True,
        runAsUser=user,
        runAsGroup=user,
        fsGroup=user,
        fsGroupChangePolicy="OnRootMismatch" if user else None,
        seccompProfile=SeccompProfile(type="RuntimeDefault"),
    )


def container_security() -> SecurityContext:
    return SecurityContext(
        allowPrivilegeEscalation=False, readOnlyRootFilesystem=True, capabilities=Capabilities(drop=["ALL"])
    )
