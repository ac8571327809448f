"""Everything that a person applies to run a group on Kubernetes, as objects and as YAML. Pure.

`restow manifests` prints it. The same restow.toml and the same modules beside it give the same text everywhere. The
group's consumers are not among it: the controller makes them.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, Protocol

from lightkube.models.apps_v1 import DeploymentSpec, DeploymentStrategy
from lightkube.models.meta_v1 import LabelSelector, ObjectMeta
from lightkube.models.rbac_v1 import PolicyRule, RoleRef, Subject
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Namespace, ServiceAccount
from lightkube.resources.rbac_authorization_v1 import Role, RoleBinding

from restow.model import ConsumerId
from restow.platform.kubernetes import names, roles
from restow.platform.kubernetes.pods import pod_template
from restow.platform.kubernetes.rbac import rules
from restow.platform.kubernetes.yaml_text import dumped
from restow.settings import Settings

RBAC: Final = "rbac.authorization.k8s.io"


class Printable(Protocol):
    def to_dict(self) -> dict[str, Any]: ...


class Document(NamedTuple):
    words: str
    """What it is, for whoever reads it before applying it."""
    thing: Printable


def namespace_of(settings: Settings) -> str:
    """A group that names none gets one of its own."""
    return settings.kubernetes.namespace or settings.group.name


def documents(settings: Settings, files: Mapping[str, str]) -> tuple[Document, ...]:
    """In the order in which they need each other. `files`: restow.toml, and the modules with transforms beside it."""
    pod_template(settings, ConsumerId(1), settings.consumer.settings)  # refuses what no consumer could be made of
    return (
        Document("Where all of it is.", _namespace(settings)),
        *_accounts(settings),
        Document("What the controller calls of Kubernetes, and nothing else.", _role(settings)),
        Document("The controller, and nobody else, may do that.", _binding(settings)),
        Document("restow.toml, and beside it the modules that its transforms are in.", _config(settings, files)),
        Document(
            "Measures how fast partitions are written. Needs no rights here.", _deployment(settings, "monitor", files)
        ),
        Document("Keeps the group just large enough.", _deployment(settings, "controller", files)),
    )


def as_yaml(found: tuple[Document, ...], heading: str) -> str:
    parts = [_comment(heading)]
    parts += [f"---\n{_comment(document.words)}{dumped(document.thing.to_dict())}" for document in found]
    return "".join(parts)


def _namespace(settings: Settings) -> Namespace:
    # Not `enforce`: a namespace may have other pods, and a person's own pod settings may need more.
    watched = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("audit", "warn")}
    return Namespace(metadata=ObjectMeta(name=namespace_of(settings), labels=watched))


def _accounts(settings: Settings) -> Iterator[Document]:
    yield Document("What the controller runs as.", _account(settings, roles.role_name(settings, "controller")))
    yield Document(
        "What the monitor runs as. It has no rights.", _account(settings, roles.role_name(settings, "monitor"))
    )
    if settings.kubernetes.service_account:
        words = "What consumers run as. It has no rights here; others may tie some of theirs to it."
        yield Document(words, _account(settings, settings.kubernetes.service_account))


def _account(settings: Settings, name: str) -> ServiceAccount:
    """No pod gets its token unless it asks for it."""
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


def _deployment(settings: Settings, role: roles.Role, files: Mapping[str, str]) -> Deployment:
    group = settings.group.name
    found_by = {"app.kubernetes.io/component": role, names.GROUP: group}
    return Deployment(
        metadata=_meta(settings, roles.role_name(settings, role), role),
        spec=DeploymentSpec(
            replicas=1,
            # A second one would only take over from the first, or measure the same again.
            strategy=DeploymentStrategy(type="Recreate"),
            revisionHistoryLimit=1,
            selector=LabelSelector(matchLabels=found_by),
            template=roles.role_template(settings, role, {names.CONFIG_DIGEST: _digest(files)}),
        ),
    )


def _meta(settings: Settings, name: str, component: str = "group") -> ObjectMeta:
    labels = names.common_labels(settings.group.name, component)
    return ObjectMeta(name=name, namespace=namespace_of(settings), labels=labels)


def _digest(files: Mapping[str, str]) -> str:
    parts = (part for name, text in sorted(files.items()) for part in (name, text))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def _comment(words: str) -> str:
    return "".join(f"# {line}".rstrip() + "\n" for line in words.splitlines())
