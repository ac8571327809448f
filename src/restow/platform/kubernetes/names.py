"""Names in the cluster: objects, labels, annotations, and paths inside a container.

The platform and the printed manifests both take them from here.
"""

from collections.abc import Mapping
from typing import Final

from restow.model import ConsumerId
from restow.protocol.platform_identity import PlatformIdentity
from restow.settings import Settings

GROUP: Final = "restow/group"
CONSUMER: Final = "restow/consumer"
"""The consumer's number."""
NAME: Final = "restow/name"
"""GROUP-consumer-N, which the consumer gets through the downward API."""
CREATION: Final = "restow/creation"
"""Unique for each creation of a consumer, so that the remains of one are never taken for parts of the next."""

SETTINGS: Final = "restow/settings"
"""Annotation: fingerprint of the settings that a consumer was created or last restarted with."""
TEMPLATE: Final = "restow/template"
"""Annotation: digest of everything else in its pod template."""
RESTARTED: Final = "restow/restarted"
"""Annotation of the pod template, new for each restart: Kubernetes replaces a pod when its template changes."""

CONFIG_DIGEST: Final = "restow/config"
"""Annotation of every pod template: digest of what the process reads from the ConfigMap. A change replaces the pod."""

CONTAINER: Final = "consumer"
CONFIG: Final = "/etc/restow"
VOLUME: Final = "/var/lib/restow"
SCRATCH: Final = "/tmp"
SIGNS: Final = "/run/restow"


METRICS: Final = "metrics"
"""The name of the port for metrics and probes, in every container."""
METRICS_HOST: Final = "RESTOW_METRICS_HOST"
"""Variable: the pod's own address, on which it serves them."""
METRICS_PORT: Final = "RESTOW_METRICS_PORT"

PLATFORM: Final = "RESTOW_PLATFORM"
"""Variable of a consumer: the identity of its platform, its id and its name."""


def platform_variable(identity: PlatformIdentity) -> str:
    return f"{identity.id} {identity.name}"


def platform_in(environment: Mapping[str, str]) -> PlatformIdentity | None:
    """Returns None in a pod of an older version."""
    key, _, name = environment.get(PLATFORM, "").partition(" ")
    return PlatformIdentity(key, name) if key else None


def common_labels(group: str, component: str) -> dict[str, str]:
    """Labels of every object of a group, with the recommended names that tools look for."""
    return {
        "app.kubernetes.io/name": "restow",
        "app.kubernetes.io/component": component,
        "app.kubernetes.io/instance": group,
        "app.kubernetes.io/managed-by": "restow",
        GROUP: group,
    }


def consumer_name(group: str, consumer: ConsumerId) -> str:
    return f"{group}-consumer-{consumer}"


def metrics_service_name(group: str) -> str:
    return f"{group}-metrics"


def config_map_name(settings: Settings) -> str:
    return settings.kubernetes.config_map or f"{settings.group.name}-config"
