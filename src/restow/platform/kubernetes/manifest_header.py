"""What stands above the manifests: how to apply them, what must be there before, which rights Kafka must give. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

from restow import __version__
from restow.errors import InvalidInput
from restow.kafka.acls import Acl, acls
from restow.platform.kubernetes.manifests import namespace_of
from restow.platform.kubernetes.roles import consumer_container
from restow.settings import Settings

ROLES: Final = {"monitor": "the monitor", "controller": "the controller", "consumer": "each consumer"}


def header(settings: Settings, file: str, variables: Sequence[str], in_image: Sequence[str]) -> str:
    """`variables` are those that restow.toml refers to, `in_image` the modules that the image must bring."""
    group, namespace = settings.group.name, namespace_of(settings)
    return "\n".join(
        [
            f"restow {__version__}: what the group {group} needs in Kubernetes, made from {file}.",
            "Its consumers are not here: the controller makes them. docs/kubernetes.md has the rest.",
            "",
            f"  restow manifests --config {file} | kubectl apply --server-side -f -",
            f"  kubectl --namespace {namespace} rollout status deployment/{group}-controller",
            "",
            *_before(settings, file, variables, in_image),
            "Where Kafka asks for rights, these are enough (Read and Write include Describe). Create and Alter are for",
            "the four topics of restow: they can be left out if somebody makes those beforehand, large enough.",
            "",
            *_rights(acls(settings)),
        ]
    )


def check_provided(settings: Settings, file: str, variables: Iterable[str]) -> None:
    """Raises InvalidInput for a variable that no pod would have."""
    missing = _not_named(settings, variables)
    if missing and not consumer_container(settings).get("envFrom"):
        raise InvalidInput(
            f"{file} refers to ${{{missing[0]}}}, which no pod would have; give it from a Secret, in "
            '[[kubernetes.pod.spec.containers]]: name = "consumer" and envFrom = [{ secretRef = { name = "…" } }]'
        )


def _not_named(settings: Settings, variables: Iterable[str]) -> list[str]:
    """Those that `[kubernetes.pod]` doesn't give one by one."""
    given = {each.get("name") for each in consumer_container(settings).get("env", [])}
    return [name for name in variables if name not in given]


def _before(settings: Settings, file: str, variables: Sequence[str], in_image: Sequence[str]) -> list[str]:
    lines = []
    if rest := _not_named(settings, variables):
        sources = [
            f"{kind} {each[key]['name']}"
            for each in consumer_container(settings).get("envFrom", [])
            for key, kind in (("secretRef", "the Secret"), ("configMapRef", "the ConfigMap"))
            if key in each
        ]
        lines.append(f"Before that, {' or '.join(sources)} must have: {', '.join(rest)}.")
    if in_image:
        lines.append(f"Not beside {file}, so that the image must have them: {', '.join(in_image)}.")
    return [*lines, ""] if lines else []


def _rights(needed: Iterable[Acl]) -> list[str]:
    rows = [
        (
            ROLES[acl.role],
            f"{acl.kind} {acl.name}{' (as a prefix)' if acl.is_prefix else ''}",
            ", ".join(acl.operations),
        )
        for acl in needed
    ]
    who = max(len(row[0]) for row in rows)
    what = max(len(row[1]) for row in rows)
    return [f"  {role:<{who}}  {thing:<{what}}  {operations}" for role, thing, operations in rows]
