"""What things are called in the cluster: objects, labels, annotations, and the paths inside a consumer's container.

Whoever makes an object or looks for one asks here: the platform, and what prints an operator's manifests.
"""

from typing import Final

from restow.model import ConsumerId
from restow.settings import Settings

GROUP: Final = "restow/group"
CONSUMER: Final = "restow/consumer"
"""The consumer's number."""
NAME: Final = "restow/name"
"""GROUP-consumer-N, which the consumer is told through the downward API."""
CREATION: Final = "restow/creation"
"""Differs for each creation of a consumer: what is left of one is never taken for a part of the next."""

SETTINGS: Final = "restow/settings"
"""An annotation: the fingerprint of the settings that a consumer was created or last restarted with."""
TEMPLATE: Final = "restow/template"
"""An annotation: a digest of all else in its pod template."""
RESTARTED: Final = "restow/restarted"
"""An annotation of the pod template, new for each restart: another template is what makes Kubernetes restart it."""

CONFIG_DIGEST: Final = "restow/config"
"""An annotation of every pod template: a digest of what its process reads from the ConfigMap. Another restarts it."""

CONTAINER: Final = "consumer"
CONFIG: Final = "/etc/restow"
VOLUME: Final = "/var/lib/restow"
SCRATCH: Final = "/tmp"
SIGNS: Final = "/run/restow"


def common_labels(group: str, component: str) -> dict[str, str]:
    """Of everything of a group, by the names that tools look for."""
    return {
        "app.kubernetes.io/name": "restow",
        "app.kubernetes.io/component": component,
        "app.kubernetes.io/instance": group,
        "app.kubernetes.io/managed-by": "restow",
        GROUP: group,
    }


def consumer_name(group: str, consumer: ConsumerId) -> str:
    return f"{group}-consumer-{consumer}"


def config_map_name(settings: Settings) -> str:
    return settings.kubernetes.config_map or f"{settings.group.name}-config"
