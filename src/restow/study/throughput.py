"""A consumer's throughput beside its peers': cases, rows and capacity. Pure; `restow bench consumer` measures them.

A contender stores records in commits. Its speed is taken over whole commits: from the first one after its warm-up,
whose own records don't count, to the last one. A contender with several tables has the sum of their speeds.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from restow.errors import InvalidInput, RestowError
from restow.study.strict_json import Element, read

RESTOW, STREAMING, TUNED, LOOP, BARE = "restow", "streaming", "streaming-tuned", "loop", "bare"
CONTENDERS: Final = (RESTOW, STREAMING, TUNED, LOOP, BARE)
PIECES: Final = 6
"""The spread of a speed is that of the speeds of this many pieces of its run, each of whole commits."""


@dataclass(frozen=True, slots=True)
class Case:
    """What a contender gets. The first case of a run is the base; the others differ from it in one or two fields."""

    cores: int = 1
    record_bytes: int = 1000
    partitions: int = 8
    topics: int = 1
    tables: int = 1
    brokers: int = 1

    @property
    def by_topic(self) -> Mapping[str, int]:
        """The partitions of each topic, which differ by at most one."""
        each, more = divmod(self.partitions, self.topics)
        return {f"orders-{number}": each + (number < more) for number in range(self.topics)}

    def table_of(self, topic: str) -> str:
        return f"table-{list(self.by_topic).index(topic) % self.tables}"

    def __str__(self) -> str:
        """1 kB, 8 partitions, and what else differs from the base."""
        size = f"{self.record_bytes / 1000:g} kB" if self.record_bytes >= 1000 else f"{self.record_bytes} B"
        parts = [size, f"{self.partitions} partition{'s' * (self.partitions > 1)}"]
        parts += [f"{self.topics} topics"] * (self.topics > 1)
        parts += [f"{self.tables} tables"] * (self.tables > 1)
        parts += [f"{self.brokers} brokers"] * (self.brokers > 1)
        parts += [f"{self.cores} cores"] * (self.cores > 1)
        return ", ".join(parts)


BASE: Final = Case()
CASES: Final[Mapping[str, Mapping[Case, tuple[str, ...]]]] = {
    "base": {BASE: CONTENDERS},
    "sizes": {Case(record_bytes=size): (RESTOW, TUNED, LOOP, BARE) for size in (150, 10_000)},
    "partitions": {Case(partitions=count): (RESTOW, LOOP, BARE) for count in (1, 32, 144)},
    "brokers": {Case(partitions=count, brokers=3): (RESTOW, LOOP, BARE) for count in (8, 144)},
    "topics": {Case(partitions=40, topics=5): (RESTOW, LOOP, BARE)},
    "tables": {
        Case(partitions=40, topics=5, tables=5): (RESTOW, LOOP, BARE),
        Case(partitions=144, topics=5, tables=5): (RESTOW, TUNED, LOOP, BARE),
    },
    "cores": {Case(cores=2): (RESTOW, TUNED, LOOP)},
}
"""The cases by what they vary, and who takes part. Structured Streaming, which needs minutes, takes part in some."""


@dataclass(frozen=True, slots=True)
class Row:
    contender: str
    cores: int
    record_bytes: int
    partitions: int
    topics: int
    tables: int
    brokers: int
    mb_per_s: float
    """10^6 bytes of records' values, read from Kafka, and stored except by the bare client."""
    records_per_s: float
    cpu_s_per_gb: float
    """CPU time of all of its processes for 10^9 bytes."""
    memory_mb: float
    """The most memory (PSS) of all of its processes, in 10^6 bytes."""

    @property
    def case(self) -> Case:
        return Case(**{field.name: getattr(self, field.name) for field in fields(Case)})


@dataclass(frozen=True, slots=True)
class Commit:
    """Records that a contender has stored in a table, or that the bare client has read."""

    table: str
    time_s: float
    records: float


@dataclass(frozen=True, slots=True)
class Load:
    """The CPU time that a contender has used until now, and all processes on its cores."""

    time_s: float
    cpu_s: float
    busy_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Speed:
    records_per_s: float
    slowest_per_s: float
    """Of the pieces of the run."""
    fastest_per_s: float
    commits: int


class TooFewCommits(RestowError):
    """There are no two commits after the warm-up to take a speed from."""


def speed(commits: Iterable[Commit], from_s: float) -> Speed:
    """The speed after `from_s`. Raises TooFewCommits."""
    by_table: dict[str, list[Commit]] = {}
    for commit in sorted(commits, key=lambda each: each.time_s):
        if commit.time_s >= from_s:
            by_table.setdefault(commit.table, []).append(commit)
    if not by_table or any(len(own) < 2 for own in by_table.values()):
        fewest = min(map(len, by_table.values()), default=0)
        raise TooFewCommits(f"it made {fewest} commits to a table after its warm-up, and a speed needs two or more")
    pieces = [_pieces(own) for own in by_table.values()]
    return Speed(
        records_per_s=sum(_rate(own) for own in by_table.values()),
        slowest_per_s=sum(min(rates) for rates in pieces),
        fastest_per_s=sum(max(rates) for rates in pieces),
        commits=sum(len(own) - 1 for own in by_table.values()),
    )


def _rate(commits: Sequence[Commit]) -> float:
    """Records of all commits but the first, by the time from the first to the last."""
    return sum(commit.records for commit in commits[1:]) / (commits[-1].time_s - commits[0].time_s)


def _pieces(commits: Sequence[Commit]) -> list[float]:
    """The speed of each piece of whole commits, of a sixth of the time or more. What is left at the end has none."""
    least_s = (commits[-1].time_s - commits[0].time_s) / PIECES
    found, piece = [], [commits[0]]
    for commit in commits[1:]:
        piece.append(commit)
        if commit.time_s - piece[0].time_s >= least_s * 0.999:
            found.append(_rate(piece))
            piece = [commit]
    return found


def cpu_shares(loads: Sequence[Load], from_s: float) -> tuple[float, float]:
    """CPU seconds per second after `from_s`, between the first and the last look: the contender's, and what other
    processes took on its cores."""
    seen = [load for load in loads if load.time_s >= from_s]
    if len(seen) < 2:
        raise TooFewCommits("its CPU time was not seen twice after its warm-up")
    first, last = seen[0], seen[-1]
    lasted_s, own_s = last.time_s - first.time_s, last.cpu_s - first.cpu_s
    return own_s / lasted_s, max(0.0, last.busy_s - first.busy_s - own_s) / lasted_s


def row_of(contender: str, case: Case, found: Speed, cpu_share: float, memory_bytes: float) -> Row:
    bytes_per_s = found.records_per_s * case.record_bytes
    return Row(
        contender,
        **asdict(case),
        mb_per_s=round(bytes_per_s / 1e6, 3),
        records_per_s=round(found.records_per_s, 1),
        cpu_s_per_gb=round(cpu_share / bytes_per_s * 1e9, 3),
        memory_mb=round(memory_bytes / 1e6, 1),
    )


@dataclass(frozen=True, slots=True)
class Capacity:
    """What one consumer sustains, in bytes of Kafka's log per second, as `[consumer] capacity_bytes_per_s` counts."""

    case: Case
    bytes_per_s: int
    lowest_bytes_per_s: int
    highest_bytes_per_s: int


def capacity(case: Case, found: Speed, log_bytes_per_record: float) -> Capacity:
    return Capacity(
        case,
        *(int(rate * log_bytes_per_record) for rate in (found.records_per_s, found.slowest_per_s, found.fastest_per_s)),
    )


def result(rows: Sequence[Row], capacity_bytes_per_s: int | None) -> dict[str, object]:
    """What `--json` prints."""
    return {"rows": [asdict(row) for row in rows], "capacity_bytes_per_s": capacity_bytes_per_s}


def joined(files: Iterable[Path]) -> tuple[list[Row], int | None]:
    """The rows of several results, in the order of the files, and the capacity of the first that has one. A case that
    was measured again replaces its earlier row. Raises InvalidInput."""
    rows: dict[tuple[str, Case], Row] = {}
    found: int | None = None
    for file in files:
        whole = read(file).fields("a result of --json", ("rows", "capacity_bytes_per_s"), ("rows",))
        for element in whole["rows"].elements("an array of rows"):
            row = _row_in(element)
            rows[row.contender, row.case] = row
        own = whole.get("capacity_bytes_per_s")
        if found is None and own is not None and own.value is not None:
            found = own.whole_number("bytes per second, or null")
    return list(rows.values()), found


def _row_in(element: Element) -> Row:
    names = [field.name for field in fields(Row)]
    own = element.fields("a row", names, names)
    contender = own.pop("contender").text("the name of a contender")
    if contender not in CONTENDERS:
        raise InvalidInput(f"{element.file}: there is no contender '{contender}'; known are {', '.join(CONTENDERS)}")
    case = Case(**{field.name: own.pop(field.name).whole_number("1 or more", 1) for field in fields(Case)})
    figures: dict[str, Any] = {name: value.number("0 or more") for name, value in own.items()}
    return Row(contender, **asdict(case), **figures)


def ratios(rows: Sequence[Row]) -> Mapping[Case, Mapping[str, float]]:
    """restow's speed as a multiple of each peer's, by case."""
    ours = {row.case: row.mb_per_s for row in rows if row.contender == RESTOW}
    return {
        case: {
            row.contender: mb_per_s / row.mb_per_s
            for row in rows
            if row.case == case and row.contender != RESTOW and row.mb_per_s
        }
        for case, mb_per_s in ours.items()
    }


def gaps_s(commits: Sequence[Commit], from_s: float) -> list[float]:
    """The times between commits to the same table after `from_s`: the lengths of a busy consumer's cycles."""
    tables = sorted({commit.table for commit in commits})
    times = [[each.time_s for each in commits if each.table == table and each.time_s >= from_s] for table in tables]
    return [after - before for own in times for before, after in pairwise(sorted(own))]
