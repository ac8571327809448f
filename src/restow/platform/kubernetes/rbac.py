"""The controller's RBAC rules in the group's namespace: the verbs that `api.py` uses. Consumers need none."""

from dataclasses import dataclass

from restow.settings import Kubernetes


@dataclass(frozen=True, slots=True)
class Rule:
    api_group: str
    resource: str
    verbs: tuple[str, ...]


def rules(settings: Kubernetes) -> tuple[Rule, ...]:
    claims = ("create", "delete", "list") if settings.claims == "delete" else ("create", "list")
    return (
        Rule("apps", "deployments", ("create", "delete", "list", "update", "watch")),
        Rule("apps", "replicasets", ("list",)),
        Rule("", "pods", ("list", "watch")),
        Rule("", "persistentvolumeclaims", claims),
    )
