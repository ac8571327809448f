"""The ACLs that each role needs if the cluster has an authorizer. Pure; `restow manifests` prints them.

Every role needs Describe on all topics of restow, because it checks that they exist before it sends. Read and Write
include Describe. If the topics are created beforehand, with enough partitions, the controller needs neither Create nor
Alter. What it needs on the consumed topics and on the group is for the lag in the picture; it decides the same without.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from restow.settings import Settings

Role = Literal["monitor", "controller", "consumer", "page", "operator"]
"""`operator` is a person at the command line, who looks at the group or changes it."""
Kind = Literal["Topic", "Group", "TransactionalId", "Cluster"]

CLUSTER: Final = "kafka-cluster"
ANY: Final = "*"


@dataclass(frozen=True, slots=True)
class Acl:
    """Operations to allow a role on a resource."""

    role: Role
    kind: Kind
    name: str
    operations: tuple[str, ...]
    is_prefix: bool = False


def acls(settings: Settings) -> tuple[Acl, ...]:
    return (
        *_of_monitor(settings),
        *_of_controller(settings),
        *_of_consumers(settings),
        *_of_page(settings),
        *_of_operators(settings),
    )


def _of_monitor(settings: Settings) -> tuple[Acl, ...]:
    topics = settings.topics
    return (
        Acl("monitor", "Cluster", CLUSTER, ("Describe",)),
        *_on(settings.topics_of_interest, "monitor", ("Describe", "DescribeConfigs")),
        Acl("monitor", "Topic", topics.monitor, ("Write",)),
        Acl("monitor", "Topic", topics.service, ("Read",)),
        Acl("monitor", "Topic", topics.controller, ("Describe",)),
        Acl("monitor", "Topic", topics.query, ("Describe",)),
        Acl("monitor", "Topic", topics.status, ("Describe",)),
        Acl("monitor", "Group", settings.group.name, ("Describe",)),
    )


def _of_controller(settings: Settings) -> tuple[Acl, ...]:
    topics, own = settings.topics, f"{settings.group.name}-controller"
    make = ("Create", "Alter")
    return (
        *_on(tuple(settings.consume), "controller", ("Read", "DescribeConfigs")),
        Acl("controller", "Group", settings.group.name, ("Describe",)),
        Acl("controller", "Topic", topics.controller, ("Read", "Write", *make)),
        Acl("controller", "Topic", topics.query, ("Write", *make)),
        Acl("controller", "Topic", topics.monitor, ("Read", "Create")),
        Acl("controller", "Topic", topics.service, ("Read", "Create")),
        Acl("controller", "Topic", topics.status, ("Read", "Write", "Create")),
        Acl("controller", "TransactionalId", own, ("Describe", "Write")),
        Acl("controller", "Group", own, ("Read",)),
    )


def _of_consumers(settings: Settings) -> tuple[Acl, ...]:
    topics = settings.topics
    others = sorted({service.from_group for service in settings.consume.values() if service.from_group})
    return (
        *_on(tuple(settings.consume), "consumer", ("Read",)),
        Acl("consumer", "Group", settings.group.name, ("Read",)),
        *(Acl("consumer", "Group", group, ("Describe",)) for group in others),
        Acl("consumer", "Topic", topics.controller, ("Read", "Write")),
        Acl("consumer", "Topic", topics.query, ("Read",)),
        Acl("consumer", "Topic", topics.monitor, ("Describe",)),
        Acl("consumer", "Topic", topics.service, ("Describe",)),
        Acl("consumer", "Topic", topics.status, ("Describe",)),
    )


def _of_page(settings: Settings) -> tuple[Acl, ...]:
    """To look; and to pause, resume and recommend."""
    return (
        Acl("page", "Topic", settings.topics.status, ("Read",)),
        Acl("page", "Topic", settings.topics.monitor, ("Read",)),
        Acl("page", "Topic", settings.topics.service, ("Write",)),
        Acl("page", "Group", settings.group.name, ("Describe",)),
    )


def _of_operators(settings: Settings) -> tuple[Acl, ...]:
    """Without Write they can look at the group, and not change it."""
    topics = settings.topics
    return (
        Acl("operator", "Topic", topics.status, ("Read",)),
        Acl("operator", "Topic", topics.monitor, ("Read",)),
        Acl("operator", "Topic", topics.service, ("Read", "Write")),
        Acl("operator", "Group", settings.group.name, ("Describe",)),
    )


def _on(wanted: tuple[str, ...], role: Role, operations: tuple[str, ...]) -> tuple[Acl, ...]:
    """ACLs by topic name. For a regular expression: by its literal prefix, the closest that Kafka's ACLs come to it."""
    found = []
    for name in wanted:
        start = literal_start(name) if name.startswith("^") else None
        if start is None:
            found.append(Acl(role, "Topic", name, operations))
        else:
            found.append(Acl(role, "Topic", start or ANY, operations, is_prefix=bool(start)))
    return tuple(dict.fromkeys(found))


def literal_start(expression: str) -> str:
    """The prefix that all names matching the expression share, as far as simple expressions show it."""
    if "|" in expression:
        return ""
    found = re.match(r"\^((?:[A-Za-z0-9_-]|\\\.|\\-)*)([*?{])?", expression)
    assert found is not None, "it starts with ^"
    start = found[1].replace("\\", "")
    return start[:-1] if found[2] else start
