"""Which rights each role needs in Kafka, where an authorizer asks for them. Pure; `restow manifests` prints it.

A role needs to see all four topics of restow, since it looks whether they are there before it first sends. Read and
Write include Describe. Where somebody makes the topics beforehand, large enough, the controller needs no Create and no
Alter.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from restow.settings import Settings

Role = Literal["monitor", "controller", "consumer"]
Kind = Literal["Topic", "Group", "TransactionalId", "Cluster"]

CLUSTER: Final = "kafka-cluster"
ANY: Final = "*"


@dataclass(frozen=True, slots=True)
class Acl:
    """Operations that a role is to be allowed on a thing."""

    role: Role
    kind: Kind
    name: str
    operations: tuple[str, ...]
    is_prefix: bool = False


def acls(settings: Settings) -> tuple[Acl, ...]:
    return (*_of_monitor(settings), *_of_controller(settings), *_of_consumers(settings))


def _of_monitor(settings: Settings) -> tuple[Acl, ...]:
    topics = settings.topics
    return (
        Acl("monitor", "Cluster", CLUSTER, ("Describe",)),
        *_on(settings.topics_of_interest, "monitor", ("Describe", "DescribeConfigs")),
        Acl("monitor", "Topic", topics.monitor, ("Write",)),
        Acl("monitor", "Topic", topics.service, ("Read",)),
        Acl("monitor", "Topic", topics.controller, ("Describe",)),
        Acl("monitor", "Topic", topics.query, ("Describe",)),
        Acl("monitor", "Group", settings.group.name, ("Describe",)),
    )


def _of_controller(settings: Settings) -> tuple[Acl, ...]:
    topics, own = settings.topics, f"{settings.group.name}-controller"
    make = ("Create", "Alter")
    return (
        Acl("controller", "Topic", topics.controller, ("Read", "Write", *make)),
        Acl("controller", "Topic", topics.query, ("Write", *make)),
        Acl("controller", "Topic", topics.monitor, ("Read", "Create")),
        Acl("controller", "Topic", topics.service, ("Read", "Create")),
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
    )


def _on(wanted: tuple[str, ...], role: Role, operations: tuple[str, ...]) -> tuple[Acl, ...]:
    """Topics by name; for an expression those that begin as it does, which is as near as Kafka's rights come to it."""
    found = []
    for name in wanted:
        start = literal_start(name) if name.startswith("^") else None
        if start is None:
            found.append(Acl(role, "Topic", name, operations))
        else:
            found.append(Acl(role, "Topic", start or ANY, operations, is_prefix=bool(start)))
    return tuple(dict.fromkeys(found))


def literal_start(expression: str) -> str:
    """What each name that matches a regular expression begins with, as far as that is easily seen."""
    if "|" in expression:
        return ""
    found = re.match(r"\^((?:[A-Za-z0-9_-]|\\\.|\\-)*)([*?{])?", expression)
    assert found is not None, "it starts with ^"
    start = found[1].replace("\\", "")
    return start[:-1] if found[2] else start
