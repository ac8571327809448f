"""What a change of a group costs its partitions: pauses, records doubled and lost. Pure.

`restow bench handover` observes it.

Every contender makes progress: a member has processed or stored some records of a partition. A partition has moved if
two pieces of its progress in a row are of different processes. Its pause is the time between them, minus the usual
distance of its progress before the change.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from math import ceil
from pathlib import Path
from statistics import median
from typing import Final

from restow.errors import InvalidInput
from restow.study.strict_json import Element, read

LIGHT, SPARK, RANGE, COOPERATIVE, KIP_848, STATIC = (
    *("restow-light", "restow-spark", "range", "cooperative", "kip-848", "static"),
)
CONTENDERS: Final = (LIGHT, SPARK, RANGE, COOPERATIVE, KIP_848, STATIC)
JOIN, LEAVE, KILL = "join", "leave", "kill"
CHANGES: Final = (JOIN, LEAVE, KILL)
USUAL_S: Final = 6.0
"""The usual distance of a partition's progress is that of so many seconds before the change."""
PAUSED_S: Final = 0.5
"""A partition that did not move has paused if its longest distance exceeds the usual one by more than this, and by more
than the usual one itself."""
BEFORE_S: Final = 3.0
"""A record that was produced so shortly before a change may be doubled or lost because of it."""


@dataclass(frozen=True, slots=True)
class Progress:
    partition: int
    first: int
    next: int
    time_s: float
    owner: str
    """The process."""


@dataclass(frozen=True, slots=True)
class Change:
    kind: str
    at_s: float
    until_s: float
    """When the group had been calm again for a while."""


@dataclass(frozen=True, slots=True)
class Move:
    partition: int
    pause_s: float
    in_effect_s: float
    """From the change to the first progress of the new owner."""


@dataclass(frozen=True, slots=True)
class Observed:
    """A contender's run."""

    contender: str
    changes: Sequence[Change]
    progress: Sequence[Progress]
    produced_s: Sequence[float]
    """When the record at each offset was produced: the same offset of all partitions at the same time."""
    copies: Mapping[tuple[int, int], int]
    """How often the record at a partition's offset was processed or stored."""
    partitions: int


@dataclass(frozen=True, slots=True)
class Row:
    contender: str
    change: str
    moved: int
    """Moves of partitions, of all changes of this kind."""
    pause_p50_s: float
    pause_p99_s: float
    unmoved_paused: int
    """Partitions that paused although they did not move."""
    in_effect_s: float
    """Until the last moved partition is read by its new owner: the median of the changes."""
    duplicates: int
    lost: int


def rows(observed: Observed) -> list[Row]:
    return [row(observed, kind) for kind in CHANGES if any(change.kind == kind for change in observed.changes)]


def row(observed: Observed, kind: str) -> Row:
    changes = [change for change in observed.changes if change.kind == kind]
    by_partition = of_partitions(observed.progress)
    moves = [moves_in(change, by_partition) for change in changes]
    pauses = sorted(move.pause_s for some in moves for move in some)
    ends = [max(move.in_effect_s for move in some) for some in moves if some]
    counts = [_miscounted(observed, change) for change in changes]
    return Row(
        observed.contender,
        kind,
        moved=len(pauses),
        pause_p50_s=quantile(pauses, 0.5),
        pause_p99_s=quantile(pauses, 0.99),
        unmoved_paused=sum(
            _has_paused(change, own) for change in changes for own in by_partition.values() if not _moves(change, own)
        ),
        in_effect_s=round(median(ends), 3) if ends else 0.0,
        duplicates=sum(doubled for doubled, _ in counts),
        lost=sum(lost for _, lost in counts),
    )


def moves_in(change: Change, by_partition: Mapping[int, Sequence[Progress]]) -> list[Move]:
    return [move for own in by_partition.values() for move in _moves(change, own)]


def quantile(ascending: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all values does not exceed; 0 if there are none."""
    if not ascending:
        return 0.0
    return round(ascending[min(len(ascending), ceil(share * len(ascending))) - 1], 3)


def is_calm(progress: Iterable[Progress], partitions: int, now_s: float, calm_s: float, owners: int | None) -> bool:
    """Whether all partitions make progress, by so many owners, and none has moved for a while."""
    by_partition = of_partitions(progress)
    if len(by_partition) < partitions:
        return False
    lasts = [own[-1] for own in by_partition.values()]
    if owners is not None and len({last.owner for last in lasts}) != owners:
        return False
    if any(now_s - last.time_s > calm_s / 2 for last in lasts):
        return False
    return not any(
        before.owner != after.owner
        for own in by_partition.values()
        for before, after in pairwise(own)
        if after.time_s > now_s - calm_s
    )


def of_partitions(progress: Iterable[Progress]) -> dict[int, list[Progress]]:
    """In the order of time."""
    found: dict[int, list[Progress]] = {}
    for each in sorted(progress, key=lambda each: each.time_s):
        found.setdefault(each.partition, []).append(each)
    return found


def _within(change: Change, own: Sequence[Progress]) -> list[Progress]:
    """From the last progress before the change on."""
    before = [each for each in own if each.time_s < change.at_s]
    return before[-1:] + [each for each in own if change.at_s <= each.time_s <= change.until_s]


def _usual_s(change: Change, own: Sequence[Progress]) -> float:
    times = [each.time_s for each in own if change.at_s - USUAL_S <= each.time_s < change.at_s]
    return median(after - before for before, after in pairwise(times)) if len(times) > 1 else 0.0


def _moves(change: Change, own: Sequence[Progress]) -> list[Move]:
    usual_s = _usual_s(change, own)
    return [
        Move(after.partition, max(0.0, after.time_s - before.time_s - usual_s), after.time_s - change.at_s)
        for before, after in pairwise(_within(change, own))
        if before.owner != after.owner
    ]


def _has_paused(change: Change, own: Sequence[Progress]) -> bool:
    usual_s = _usual_s(change, own)
    longest_s = max((after.time_s - before.time_s for before, after in pairwise(_within(change, own))), default=0.0)
    return longest_s - usual_s > max(PAUSED_S, usual_s)


def _miscounted(observed: Observed, change: Change) -> tuple[int, int]:
    """Records doubled and lost, of those produced from shortly before the change to shortly before the next one."""
    later = [other.at_s for other in observed.changes if other.at_s > change.at_s]
    until_s = min(later) - BEFORE_S if later else observed.produced_s[-1] + 1.0
    offsets = [at for at, when_s in enumerate(observed.produced_s) if change.at_s - BEFORE_S <= when_s < until_s]
    counts = [observed.copies.get((p, at), 0) for p in range(observed.partitions) for at in offsets]
    return sum(count - 1 for count in counts if count > 1), sum(count == 0 for count in counts)


def result(found: Sequence[Row]) -> dict[str, object]:
    """What `--json` prints."""
    return {"rows": [asdict(row) for row in found]}


def joined(files: Iterable[Path]) -> list[Row]:
    """The rows of several results. One that was measured again replaces the earlier one. Raises InvalidInput."""
    found: dict[tuple[str, str], Row] = {}
    for file in files:
        whole = read(file).fields("a result of --json", ("rows",), ("rows",))
        for element in whole["rows"].elements("an array of rows"):
            row = _row_in(element)
            found[row.contender, row.change] = row
    return [found[name, kind] for name in CONTENDERS for kind in CHANGES if (name, kind) in found]


def _row_in(element: Element) -> Row:
    names = [field.name for field in fields(Row)]
    own = element.fields("a row", names, names)
    contender = own["contender"].text("the name of a contender")
    change = own["change"].text("the name of a change")
    if contender not in CONTENDERS or change not in CHANGES:
        known = f"{', '.join(CONTENDERS)}, and {', '.join(CHANGES)}"
        raise InvalidInput(f"{element.file}: there is no '{contender}' or no '{change}'; known are {known}")
    return Row(
        contender,
        change,
        own["moved"].whole_number("0 or more", 0),
        own["pause_p50_s"].number("0 or more"),
        own["pause_p99_s"].number("0 or more"),
        own["unmoved_paused"].whole_number("0 or more", 0),
        own["in_effect_s"].number("0 or more"),
        own["duplicates"].whole_number("0 or more", 0),
        own["lost"].whole_number("0 or more", 0),
    )
