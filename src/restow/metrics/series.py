"""How many series a process has at most, from the definitions: Prometheus pays for each."""

from dataclasses import dataclass
from typing import Final

from restow.controller.transitions import REPLAN_FROM_MANAGE, REPLAN_FROM_SENTINEL, Phase, Stage
from restow.metrics.families import FAMILIES, FLAG, PARTITION_SPEED, Family, Role

STEPS: Final = 5
"""read, write, commit, offsets, rest."""
OF_LABELS: Final[dict[tuple[str, ...], int]] = {
    (): 1,
    ("role",): 1,
    ("role", "version"): 1,
    ("stage",): len(Stage),
    ("phase",): len(Phase),
    ("cause",): len({*REPLAN_FROM_SENTINEL, *REPLAN_FROM_MANAGE}),
    ("step",): STEPS,
    ("outcome",): 2,
}
"""How many combinations of values each combination of labels has, where that does not depend on the group."""


@dataclass(frozen=True, slots=True)
class GroupSize:
    consumers: int = 0
    topics: int = 0
    partitions: int = 0
    flags: int = 0
    has_speeds: bool = False
    """As `[metrics] per_partition_speeds`."""


def most_series(role: Role, size: GroupSize = GroupSize()) -> int:  # noqa: B008  frozen
    """Without those of the process itself (`process_…`)."""
    return sum(_most(family, size) * _per_value(family) for family in FAMILIES[role])


def _most(family: Family, size: GroupSize) -> int:
    if family is FLAG:
        return size.flags
    if family is PARTITION_SPEED and not size.has_speeds:
        return 0
    of_group = {("consumer",): size.consumers, ("topic",): size.topics, ("topic", "partition"): size.partitions}
    return of_group[family.labels] if family.labels in of_group else OF_LABELS[family.labels]


def _per_value(family: Family) -> int:
    """A histogram has its buckets, one for all values above them, a count and a sum."""
    return len(family.buckets) + 3 if family.kind == "histogram" else 1
