"""One setting of restow at several values, over all workloads: what it costs and what it saves."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from restow.errors import InvalidInput
from restow.settings import Consumer, Controller, Settings, read_settings
from restow.study.comparison.accounting import Outcome
from restow.study.comparison.loads import Shape
from restow.study.comparison.ours import simulate
from restow.study.comparison.times import Times

TABLES = {"controller": Controller, "consumer": Consumer}
"""The tables of restow.toml that decide how a group scales."""
IGNORED = ("capacity_bytes_per_s", "report_every_s", "cycle_s", "cycle_bytes", "pipeline", "image")
"""Settings of a consumer that a comparison sets itself, or that scale nothing."""


def settings_with(given: Mapping[str, str]) -> Settings:
    """restow.toml's defaults with these settings of [controller] and [consumer]. Raises InvalidInput if a name or a
    value is wrong, as for a file."""
    lines: dict[str, list[str]] = {table: [] for table in TABLES}
    for name, text in given.items():
        lines[_table_of(name)].append(f"{name} = {_toml(text)}")
    text = '[kafka]\nbootstrap = "simulated:9092"\n[group]\nname = "simulated"\n'
    text += "".join(f"[{table}]\n" + "".join(f"{line}\n" for line in each) for table, each in lines.items() if each)
    return read_settings(text, "the simulated restow.toml", {})


def _table_of(name: str) -> str:
    for table, kind in TABLES.items():
        if name in {field.name for field in fields(kind)} and not (table == "consumer" and name in IGNORED):
            return table
    known = [field.name for table, kind in TABLES.items() for field in fields(kind)]
    names = ", ".join(sorted(each for each in known if each not in IGNORED))
    raise InvalidInput(f"there is no setting '{name}' that scaling depends on; known are {names}")


def _toml(text: str) -> str:
    """A number or a truth value as it is, anything else as text."""
    try:
        json.loads(text)
    except ValueError:
        return json.dumps(text)
    return text


@dataclass(frozen=True, slots=True)
class SweepRow:
    value: str
    workload: str
    consumer_hours: float
    moves: int
    latency_p99_s: float
    overloaded_consumer_s: float


@dataclass(frozen=True)
class SweepJob:
    """One value over one workload. A worker process runs it."""

    name: str
    value: str
    others: tuple[tuple[str, str], ...]
    workload: str
    shape: Shape
    times: Times
    seeds: tuple[int, ...]

    def run(self) -> SweepRow:
        settings = settings_with({**dict(self.others), self.name: self.value})
        mean = Outcome.mean(
            [
                simulate(self.shape.load(self.workload, seed), self.times, settings.controller, settings.consumer)
                for seed in self.seeds
            ]
        )
        hours, overloaded_s = round(mean.consumer_hours, 2), round(mean.overloaded_consumer_s, 1)
        return SweepRow(self.value, self.workload, hours, mean.moves, round(mean.latency_p99_s, 1), overloaded_s)


def run_job(job: SweepJob) -> SweepRow:
    return job.run()


def over_all(rows: Sequence[SweepRow]) -> list[SweepRow]:
    """One row for each value: sums over the workloads; of the latencies the worst."""
    return [
        SweepRow(
            value,
            "all",
            round(sum(row.consumer_hours for row in own), 2),
            sum(row.moves for row in own),
            max(row.latency_p99_s for row in own),
            round(sum(row.overloaded_consumer_s for row in own), 1),
        )
        for value in dict.fromkeys(row.value for row in rows)
        for own in [[row for row in rows if row.value == value]]
    ]
