"""The comment above the manifests: how to apply them, what must exist before, which ACLs Kafka needs. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

from restow import __version__
from restow.errors import InvalidInput
from restow.kafka.acls import Acl, acls
from restow.platform.kubernetes.manifests import namespace_of
from restow.platform.kubernetes.page import made_token, page_name, page_port
from restow.platform.kubernetes.roles import consumer_container
from restow.settings import Settings

ROLES: Final = {
    "monitor": "the monitor",
    "controller": "the controller",
    "consumer": "each consumer",
    "operator": "people",
    "page": "the page",
}


def header(settings: Settings, file: str, variables: Sequence[str], in_image: Sequence[str]) -> str:
    """`variables` are the environment variables that restow.toml refers to, `in_image` the modules that the image must
    contain."""
    group, namespace = settings.group.name, namespace_of(settings)
    return "\n".join(
        [
            f"restow {__version__}: the Kubernetes objects of group {group}, generated from {file}.",
            "The controller creates the consumers. docs/kubernetes.md has the details.",
            "",
            f"  restow manifests --config {file} | kubectl apply --server-side -f -",
            f"  kubectl --namespace {namespace} rollout status deployment/{group}-controller",
            "",
            *_prerequisites(settings, file, variables, in_image),
            *(_page(settings) if settings.page.enabled else []),
            "If Kafka has an authorizer, these ACLs are enough (Read and Write include Describe). Create and Alter are",
            "for restow's own topics; leave them out if the topics exist already, with enough partitions.",
            "",
            *_acl_table(acls(settings)),
        ]
    )


def _page(settings: Settings) -> list[str]:
    """How to open the page, and where its token is."""
    kubectl, page, port = f"kubectl --namespace {namespace_of(settings)}", page_name(settings), page_port(settings)
    return [
        f"With the first of these, the page is at http://localhost:{port}/. The second prints the token that it asks",
        "for. The page makes a new one at each start, unless the third has given it one.",
        "",
        f"  {kubectl} port-forward service/{page} {port}",
        f"  {kubectl} exec deployment/{page} -- cat {made_token(settings)}",
        f"  {kubectl} create secret generic {page} --from-literal=token=$(openssl rand -hex 32)",
        "",
    ]


def check_provided(settings: Settings, file: str, variables: Iterable[str]) -> None:
    """Raises InvalidInput for a variable that pods wouldn't have."""
    missing = _not_named(settings, variables)
    if missing and not consumer_container(settings).get("envFrom"):
        raise InvalidInput(
            f"{file} refers to ${{{missing[0]}}}, which pods wouldn't have; provide it from a Secret, in "
            '[[kubernetes.pod.spec.containers]]: name = "consumer" and envFrom = [{ secretRef = { name = "…" } }]'
        )


def _not_named(settings: Settings, variables: Iterable[str]) -> list[str]:
    """The variables that `[kubernetes.pod]` doesn't set by name."""
    given = {each.get("name") for each in consumer_container(settings).get("env", [])}
    return [name for name in variables if name not in given]


def _prerequisites(settings: Settings, file: str, variables: Sequence[str], in_image: Sequence[str]) -> list[str]:
    lines = []
    if rest := _not_named(settings, variables):
        sources = [
            f"{kind} {each[key]['name']}"
            for each in consumer_container(settings).get("envFrom", [])
            for key, kind in (("secretRef", "the Secret"), ("configMapRef", "the ConfigMap"))
            if key in each
        ]
        lines.append(f"Before that, create {' or '.join(sources)} with: {', '.join(rest)}.")
    if in_image:
        lines.append(f"The image must contain these modules, which are not beside {file}: {', '.join(in_image)}.")
    return [*lines, ""] if lines else []


def _acl_table(needed: Iterable[Acl]) -> list[str]:
    rows = [
        (
            ROLES[acl.role],
            f"{acl.kind} {acl.name}{' (as a prefix)' if acl.is_prefix else ''}",
            ", ".join(acl.operations),
        )
        for acl in needed
    ]
    role_width = max(len(row[0]) for row in rows)
    resource_width = max(len(row[1]) for row in rows)
    return [
        f"  {role:<{role_width}}  {resource:<{resource_width}}  {operations}" for role, resource, operations in rows
    ]
