"""The pod templates of a group's controller, monitor and page. Pure; `manifests.py` puts them into Deployments.

They are as restricted as a consumer's pod; only the controller gets a token. Of `[kubernetes.pod]` they take what is
needed to pull the image and to reach Kafka; the rest applies to consumers alone.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

from lightkube.models.core_v1 import (
    ConfigMapVolumeSource,
    Container,
    EmptyDirVolumeSource,
    EnvVar,
    PersistentVolumeClaimVolumeSource,
    PodSpec,
    PodTemplateSpec,
    ResourceRequirements,
    Volume,
    VolumeMount,
)
from lightkube.models.meta_v1 import ObjectMeta

from restow.platform.kubernetes import names
from restow.platform.kubernetes.fragments import merged
from restow.platform.kubernetes.page import page_arguments, page_mounts, page_ports, page_volumes
from restow.platform.kubernetes.pods import (
    container_security,
    image_of,
    pod_security,
    scratch_volume,
)
from restow.platform.kubernetes.probing import CONTROLLER, MONITOR, PAGE, Serving, serving
from restow.settings import Settings

Role = Literal["controller", "monitor", "page"]
PLACES: Final[Mapping[Role, int]] = {"controller": CONTROLLER, "monitor": MONITOR, "page": PAGE}

POD_FIELDS: Final = (
    *("dnsConfig", "dnsPolicy", "hostAliases", "hostNetwork", "imagePullSecrets", "securityContext", "volumes"),
)
CONTAINER_FIELDS: Final = ("env", "envFrom", "imagePullPolicy", "volumeMounts")

EVENT_LOG: Final = f"{names.VOLUME}/events"


def role_name(settings: Settings, role: Role) -> str:
    return f"{settings.group.name}-{role}"


def role_template(settings: Settings, role: Role, annotations: Mapping[str, str]) -> PodTemplateSpec:
    served = serving(settings, PLACES[role])
    base = PodTemplateSpec(
        metadata=ObjectMeta(
            labels=names.common_labels(settings.group.name, role),
            annotations={**annotations, **served.annotations},
        ),
        spec=PodSpec(
            containers=[_container(settings, role, served)],
            volumes=_volumes(settings, role),
            serviceAccountName=role_name(settings, role),
            automountServiceAccountToken=role == "controller",
            enableServiceLinks=False,
            securityContext=pod_security(settings.kubernetes),
        ),
    )
    return merged(base, fragment_for(settings, role))


def fragment_for(settings: Settings, role: Role) -> dict[str, Any]:
    spec = settings.kubernetes.pod.get("spec", {})
    container = consumer_container(settings)
    ours = {"name": role, **{key: container[key] for key in CONTAINER_FIELDS if key in container}}
    return {"spec": {**{key: spec[key] for key in POD_FIELDS if key in spec}, "containers": [ours]}}


def consumer_container(settings: Settings) -> Mapping[str, Any]:
    """The consumer container's part of `[kubernetes.pod]`."""
    containers = settings.kubernetes.pod.get("spec", {}).get("containers", [])
    return next((each for each in containers if each.get("name") == names.CONTAINER), {})


def _container(settings: Settings, role: Role, served: Serving) -> Container:
    own = {"controller": ("--log", EVENT_LOG), "monitor": (), "page": page_arguments(settings)}
    return Container(
        name=role,
        image=image_of(settings, settings.consumer.settings),
        command=["restow"],
        args=[role, "--config", f"{names.CONFIG}/restow.toml", *own[role]],
        env=[
            EnvVar(name="HOME", value=names.SCRATCH),
            EnvVar(name="RESTOW_SIGNS", value=names.SIGNS),
            *served.variables,
        ],
        resources=RESOURCES[role],
        volumeMounts=[
            VolumeMount(name="config", mountPath=names.CONFIG, readOnly=True),
            *([VolumeMount(name="volume", mountPath=names.VOLUME)] if role == "controller" else []),
            *(page_mounts() if role == "page" else []),
            VolumeMount(name="scratch", mountPath=names.SCRATCH),
            VolumeMount(name="signs", mountPath=names.SIGNS),
        ],
        ports=[*served.ports, *(page_ports(settings) if role == "page" else [])] or None,
        livenessProbe=served.liveness,
        readinessProbe=served.readiness,
        securityContext=container_security(),
        terminationMessagePolicy="FallbackToLogsOnError",
    )


RESOURCES: Final[dict[Role, ResourceRequirements]] = {
    "controller": ResourceRequirements(requests={"cpu": "100m", "memory": "256Mi"}, limits={"memory": "1Gi"}),
    "monitor": ResourceRequirements(requests={"cpu": "100m", "memory": "128Mi"}, limits={"memory": "512Mi"}),
    "page": ResourceRequirements(requests={"cpu": "20m", "memory": "128Mi"}, limits={"memory": "512Mi"}),
}
"""Measured with 1,000 partitions: the controller took 187 MB and 0.02 cores, the monitor 75 MB (20 MB for the
partitions) and 0.08 cores. A page's last day of 5,000 partitions and 300 consumers took 86 MB. Compiling the packer, if
the image has no compiled copy that fits, took 371 MB. There is no CPU limit: it would only delay decisions."""


def _volumes(settings: Settings, role: Role) -> list[Volume]:
    claim = PersistentVolumeClaimVolumeSource(claimName=role_name(settings, role))
    return [
        Volume(name="config", configMap=ConfigMapVolumeSource(name=names.config_map_name(settings))),
        *([Volume(name="volume", persistentVolumeClaim=claim)] if role == "controller" else []),
        *(page_volumes(settings) if role == "page" else []),
        scratch_volume(settings.kubernetes),
        Volume(name="signs", emptyDir=EmptyDirVolumeSource(medium="Memory", sizeLimit="1Mi")),
    ]
