"""`[group]`: the name of the consumer group, and the platform that its consumers run on."""

from dataclasses import dataclass
from typing import Annotated, Final

from restow.settings.checks import GROUP_NAME, IfMissing, one_of

OLD_NAME: Final = "restow"
OLD_PREFIX: Final = "data-engineering"
"""What a file without `[group] name` and without `[topics] prefix` meant before a name was required."""


@dataclass(frozen=True, slots=True)
class Group:
    """`[group]`: the consumer group. Several groups may share a cluster and a machine."""

    name: Annotated[
        GROUP_NAME,
        IfMissing(
            'write [group] name = "orders", or what else the group should be called; a file without it meant name = '
            f'"{OLD_NAME}", and prefix = "{OLD_PREFIX}" in [topics] unless that was set'
        ),
    ]
    """Each group on a cluster needs its own. It is the Kafka consumer group under which offsets are committed, so that
    any tool shows its lag; the prefix of restow's topics; the group's id in its tables; and the label of its consumers
    on their platform. A group that is renamed starts over: its tables don't know the new name's offsets."""

    platform: Annotated[str, one_of("processes", "kubernetes")] = "processes"
    """Where consumers run: `processes` on the controller's machine, or pods on `kubernetes`."""
