"""What the platform needs to be allowed in its namespace: the verbs that `api.py` uses, and no other. For the Role of
the controller; consumers need nothing.
"""

from dataclasses import dataclass

from restow.settings import Kubernetes


@dataclass(frozen=True, slots=True)
class Right:
    api_group: str
    resource: str
    verbs: tuple[str, ...]


def rights(settings: Kubernetes) -> tuple[Right, ...]:
    claims = ("create", "delete", "list") if settings.claims == "delete" else ("create", "list")
    return (
        Right("apps", "deployments", ("create", "delete", "list", "update", "watch")),
        Right("apps", "replicasets", ("list",)),
        Right("", "pods", ("list", "watch")),
        Right("", "persistentvolumeclaims", claims),
    )
