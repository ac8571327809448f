"""Everything that an operator applies to run a group on Kubernetes, as objects and as YAML. Pure.

`restow manifests` prints it. The same restow.toml and the same modules beside it give the same text on every machine.
Consumers are not part of it: the controller creates them.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, Protocol

from lightkube.models.apps_v1 import DeploymentSpec, DeploymentStrategy
from lightkube.models.core_v1 import ServicePort, ServiceSpec
from lightkube.models.meta_v1 import LabelSelector, ObjectMeta
from lightkube.models.rbac_v1 import PolicyRule, RoleRef, Subject
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Namespace, PersistentVolumeClaim, Service, ServiceAccount
from lightkube.resources.rbac_authorization_v1 import Role, RoleBinding

from restow.model import ConsumerId
from restow.platform.kubernetes import names, roles
from restow.platform.kubernetes.objects import claim_spec
from restow.platform.kubernetes.page import page_name, page_service
from restow.platform.kubernetes.pods import pod_template
from restow.platform.kubernetes.rbac import rules
from restow.platform.kubernetes.yaml_text import dumped
from restow.settings import Settings

RBAC: Final = "rbac.authorization.k8s.io"
LOG_ACCESS_MODE: Final = "ReadWriteOnce"
"""Not ReadWriteOncePod: the log needs no exclusive writer, and the pod of a lost node would keep the next one off."""
LOG_ROOM: Final = 1.25
"""A file system keeps a part of its volume for itself."""
MB: Final = 1_000_000
GIB: Final = 1 << 30


class Printable(Protocol):
    def to_dict(self) -> dict[str, Any]: ...


class Document(NamedTuple):
    comment: str
    """What the object is for."""
    item: Printable


def namespace_of(settings: Settings) -> str:
    """A group without this setting gets a namespace of its own name."""
    return settings.kubernetes.namespace or settings.group.name


def documents(settings: Settings, files: Mapping[str, str], has_pod_monitor: bool = False) -> tuple[Document, ...]:
    """Each before what refers to it. `files`: restow.toml, and the modules with transforms beside it. A PodMonitor
    needs the Prometheus operator."""
    pod_template(
        settings, ConsumerId(1), settings.consumer.settings
    )  # raises InvalidInput if consumers couldn't be created
    return (
        Document("The namespace of all objects below, and of the consumers.", _namespace(settings)),
        *_accounts(settings),
        Document("The API calls that the controller makes, and no others.", _role(settings)),
        Document("Grants the Role to the controller's service account only.", _binding(settings)),
        Document("restow.toml and the modules of its transforms; mounted into every pod.", _config(settings, files)),
        Document("The volume of the controller's event log, which outlives its pods.", _claim(settings)),
        Document(
            "The monitor: measures how fast partitions are written. Needs no API access.",
            _deployment(settings, "monitor", files),
        ),
        Document(
            "The controller: scales the group, and creates and deletes its consumers.",
            _deployment(settings, "controller", files),
        ),
        *_page(settings, files),
        *_metrics(settings, has_pod_monitor),
    )


def as_yaml(found: tuple[Document, ...], header: str) -> str:
    parts = [_comment(header)]
    parts += [f"---\n{_comment(document.comment)}{dumped(document.item.to_dict())}" for document in found]
    return "".join(parts)


def _namespace(settings: Settings) -> Namespace:
    # Not `enforce`: the namespace may have other pods, and [kubernetes.pod] may need more.
    watched = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("audit", "warn")}
    return Namespace(metadata=ObjectMeta(name=namespace_of(settings), labels=watched))


def _accounts(settings: Settings) -> Iterator[Document]:
    yield Document("The controller's service account.", _account(settings, roles.role_name(settings, "controller")))
    yield Document(
        "The monitor's service account. It has no permissions.",
        _account(settings, roles.role_name(settings, "monitor")),
    )
    if settings.page.enabled:
        comment = "The page's service account. It has no permissions."
        yield Document(comment, _account(settings, roles.role_name(settings, "page")))
    if settings.kubernetes.service_account:
        comment = "The consumers' service account. It has no permissions here; a cloud provider may attach its own."
        yield Document(comment, _account(settings, settings.kubernetes.service_account))


def _account(settings: Settings, name: str) -> ServiceAccount:
    """Only the controller's pod asks for its token."""
    return ServiceAccount(metadata=_meta(settings, name), automountServiceAccountToken=False)


def _role(settings: Settings) -> Role:
    granted = [
        PolicyRule(apiGroups=[rule.api_group], resources=[rule.resource], verbs=list(rule.verbs))
        for rule in rules(settings.kubernetes)
    ]
    return Role(metadata=_meta(settings, roles.role_name(settings, "controller")), rules=granted)


def _binding(settings: Settings) -> RoleBinding:
    name = roles.role_name(settings, "controller")
    return RoleBinding(
        metadata=_meta(settings, name),
        roleRef=RoleRef(apiGroup=RBAC, kind="Role", name=name),
        subjects=[Subject(kind="ServiceAccount", name=name, namespace=namespace_of(settings))],
    )


def _config(settings: Settings, files: Mapping[str, str]) -> ConfigMap:
    return ConfigMap(metadata=_meta(settings, names.config_map_name(settings)), data=dict(sorted(files.items())))


def _claim(settings: Settings) -> PersistentVolumeClaim:
    size_gb = math.ceil(LOG_ROOM * settings.event_log.kept_mb * MB / GIB)
    return PersistentVolumeClaim(
        metadata=_meta(settings, roles.role_name(settings, "controller"), "controller"),
        spec=claim_spec(settings.kubernetes, LOG_ACCESS_MODE, size_gb),
    )


def _deployment(settings: Settings, role: roles.Role, files: Mapping[str, str]) -> Deployment:
    group = settings.group.name
    selected = {"app.kubernetes.io/component": role, names.GROUP: group}
    return Deployment(
        metadata=_meta(settings, roles.role_name(settings, role), role),
        spec=DeploymentSpec(
            replicas=1,
            # A second controller would take over from the first; a second monitor would measure the same again.
            strategy=DeploymentStrategy(type="Recreate"),
            revisionHistoryLimit=1,
            selector=LabelSelector(matchLabels=selected),
            template=roles.role_template(settings, role, {names.CONFIG_DIGEST: _digest(files)}),
        ),
    )


def _page(settings: Settings, files: Mapping[str, str]) -> Iterator[Document]:
    if settings.page.enabled:
        yield Document("The page: shows the group in a browser.", _deployment(settings, "page", files))
        service = Service(metadata=_meta(settings, page_name(settings), "page"), spec=page_service(settings))
        yield Document("Where browsers find the page, through a proxy or `kubectl port-forward`.", service)


def _metrics(settings: Settings, has_pod_monitor: bool) -> Iterator[Document]:
    if settings.metrics.enabled:
        yield Document("Where Prometheus finds the metrics of every pod of the group.", _service(settings))
    if settings.metrics.enabled and has_pod_monitor:
        yield Document("The same for the Prometheus operator.", PodMonitor(_pod_monitor(settings)))


def _service(settings: Settings) -> Service:
    """Headless, because each pod is scraped for itself; with pods that aren't ready, which are of interest too."""
    return Service(
        metadata=_meta(settings, names.metrics_service_name(settings.group.name)),
        spec=ServiceSpec(
            clusterIP="None",
            publishNotReadyAddresses=True,
            selector={names.GROUP: settings.group.name},
            ports=[ServicePort(port=settings.metrics.pod_port, name=names.METRICS, targetPort=names.METRICS)],
        ),
    )


class PodMonitor(NamedTuple):
    """An object of the Prometheus operator, for which lightkube has no type."""

    content: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return self.content


def _pod_monitor(settings: Settings) -> dict[str, Any]:
    meta = _meta(settings, names.metrics_service_name(settings.group.name))
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": meta.to_dict(),
        "spec": {
            "selector": {"matchLabels": {names.GROUP: settings.group.name}},
            "podMetricsEndpoints": [{"port": names.METRICS, "path": "/metrics"}],
        },
    }


def _meta(settings: Settings, name: str, component: str = "group") -> ObjectMeta:
    labels = names.common_labels(settings.group.name, component)
    return ObjectMeta(name=name, namespace=namespace_of(settings), labels=labels)


def _digest(files: Mapping[str, str]) -> str:
    parts = (part for name, text in sorted(files.items()) for part in (name, text))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def _comment(text: str) -> str:
    return "".join(f"# {line}".rstrip() + "\n" for line in text.splitlines())
