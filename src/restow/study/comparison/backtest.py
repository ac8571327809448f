"""The load of a controller's event log under other settings: what they would have cost, and what they would have
spared.

The log has every measurement, so that the same load can be run through the same machine again, with other settings. All
rows are accounted by the model of the comparison: the group as it was, the machine with the log's own settings, and
with others. The last two differ by the settings alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

import numpy as np

from restow.controller.event_log import Step
from restow.controller.events import SpeedsMeasured
from restow.controller.state import Rules, State
from restow.errors import RestowError
from restow.model import ConsumerId, Speeds, TopicPartition
from restow.settings import Consumer, Controller
from restow.simulator.workloads import STEP_S
from restow.study.comparison.accounting import HOUR_S, Accounting, Outcome
from restow.study.comparison.loads import Load
from restow.study.comparison.ours import simulate
from restow.study.comparison.sweeping import settings_with
from restow.study.comparison.times import Times

SHORTEST_S: Final = 120.0
AS_IT_WAS: Final = "as it was"
SAME: Final = "the same settings"
"""In the simulator: what the row with other settings is compared with."""


@dataclass(frozen=True, slots=True)
class BacktestRow:
    way: str
    consumer_hours: float
    moves: int
    latency_p99_s: float
    overloaded_consumer_s: float


@dataclass(slots=True)
class _Column:
    """What was measured in ten seconds, and the group at their end."""

    speeds: list[Speeds] = field(default_factory=list)
    owners: Mapping[TopicPartition, ConsumerId] = field(default_factory=dict)
    consumers: int = 0


class LoggedGroup:
    """The load and the group of an event log. Feed it with the steps of a replay."""

    def __init__(self) -> None:
        self._first_s: float | None = None
        self._columns: dict[int, _Column] = {}
        self.rules: Rules | None = None
        """The newest: settings may have changed on the way."""
        self._capacity_bytes_per_s = 0.0
        """By settings, or as last learned."""

    def add(self, steps: Iterable[Step]) -> None:
        for step in steps:
            self.rules = step.after.rules
            if isinstance(step.event, SpeedsMeasured) and step.event.speeds:
                self._measured(step.event, step.after)

    def _measured(self, event: SpeedsMeasured, state: State) -> None:
        at_s = datetime.fromisoformat(event.time).timestamp()
        if self._first_s is None:
            self._first_s = at_s
        column = self._columns.setdefault(max(0, int((at_s - self._first_s) / STEP_S)), _Column())
        column.speeds.append(event.speeds)
        column.owners = {each: number for number, view in state.consumers.items() for each in sorted(view.held)}
        column.consumers = len(state.consumers)
        self._capacity_bytes_per_s = state.capacity_bytes_per_s

    def load(self, capacity_bytes_per_s: float | None) -> Load:
        """Raises RestowError if there are too few measurements."""
        last = max(self._columns, default=0)
        if self.rules is None or (last + 1) * STEP_S < SHORTEST_S:
            raise RestowError(f"the log has measurements of less than {SHORTEST_S:g} s; it needs more to be tested on")
        names = tuple(
            sorted({each for column in self._columns.values() for speeds in column.speeds for each in speeds})
        )
        table = np.zeros((len(names), last + 1))
        for number in range(last + 1):
            found = self._columns.get(number)
            if found is None:
                table[:, number] = table[:, number - 1]  # the monitor was away
            else:
                rows = [[speeds.get(each, 0.0) for each in names] for speeds in found.speeds]
                table[:, number] = np.array(rows).mean(axis=0)
        capacity = capacity_bytes_per_s or self._capacity_bytes_per_s
        return Load("the log", 1, (last + 1) * STEP_S / HOUR_S, names, capacity, np.rint(table))

    def as_it_was(self, load: Load, times: Times) -> Outcome:
        accounting = Accounting(load.speeds, load.capacity_bytes_per_s, times.cycle_s, load.counted_from_s)
        present = _Column()
        while not accounting.is_over:
            found = self._columns.get(int(accounting.now_s / STEP_S))
            if found is not None and found is not present:
                present = found
                for row, partition in enumerate(load.partitions):
                    if partition in present.owners:
                        accounting.assign(row, int(present.owners[partition]), times.restow_join_s)
            accounting.advance(present.consumers)
        return accounting.outcome()


def changed(rules: Rules, given: Mapping[str, str]) -> tuple[Controller, Consumer]:
    """The log's settings with these; a preset brings all that belongs to it. Raises InvalidInput if a name or a value
    is wrong."""
    checked = settings_with(given)
    of_presets = {key for each in Controller.presets.values() for key in each} if "preset" in given else set()
    parts: list[Controller | Consumer] = []
    for own, other in ((rules.controller, checked.controller), (rules.consumer, checked.consumer)):
        names = {name: getattr(other, name) for name in sorted({*given, *of_presets}) if hasattr(own, name)}
        parts.append(replace(own, **names))
    controller, consumer = parts
    assert isinstance(controller, Controller)
    assert isinstance(consumer, Consumer)
    return controller, consumer


def backtest(group: LoggedGroup, load: Load, times: Times, given: Mapping[str, str]) -> list[BacktestRow]:
    assert group.rules is not None
    rows = [_row(AS_IT_WAS, group.as_it_was(load, times))]
    rows.append(_row(SAME, simulate(load, times, group.rules.controller, group.rules.consumer)))
    if given:
        name = ", ".join(f"{setting} {value}" for setting, value in given.items())
        rows.append(_row(name, simulate(load, times, *changed(group.rules, given))))
    return rows


def _row(way: str, outcome: Outcome) -> BacktestRow:
    hours, overloaded_s = round(outcome.consumer_hours, 2), round(outcome.overloaded_consumer_s, 1)
    return BacktestRow(way, hours, outcome.moves, outcome.latency_p99_s, overloaded_s)
