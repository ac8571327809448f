"""The published packers, which pack again at every interval, whatever that moves: MWF and BFD."""

from typing import Final

from restow.model import Assignment, Capacities, ConsumerId, Speeds
from restow.packing import PUBLISHED, Margins, Problem
from restow.study.comparison.accounting import NOBODY, Accounting, Outcome
from restow.study.comparison.loads import Load
from restow.study.comparison.times import Times

BEGINNING: Final = -1.0


class PackedGroup:
    """Partitions go to a consumer that runs with restow's handover. A new consumer gets its own when it has started; a
    consumer without partitions is closed."""

    def __init__(self, load: Load, times: Times, packer: str, fill_to: float) -> None:
        self._load, self._times, self._pack = load, times, PUBLISHED[packer]
        self._margins = Margins(fill_to, fill_to, fill_to, fill_to)
        self._accounting = Accounting(load.speeds, load.capacity_bytes_per_s, times.cycle_s, load.counted_from_s)
        self._plan = Assignment()
        self._ready_s: dict[ConsumerId, float] = {}
        """When each consumer of the plan has started."""

    def run(self, every_s: float) -> Outcome:
        accounting = self._accounting
        self._decide(is_first=True)
        due_s = every_s
        while not accounting.is_over:
            if accounting.now_s >= due_s:
                due_s = accounting.now_s + every_s
                self._decide()
            self._carry_out()
            accounting.advance(len(self._consumers()))
        return accounting.outcome()

    def _decide(self, *, is_first: bool = False) -> None:
        load = self._load
        speeds = Speeds(dict(zip(load.partitions, self._accounting.seen().tolist(), strict=True)))
        problem = Problem(speeds, self._plan, Capacities(load.capacity_bytes_per_s), margins=self._margins)
        self._plan = self._pack(problem).assignment
        ready_s = BEGINNING if is_first else self._accounting.now_s + self._times.start_s
        held = self._consumers()
        self._ready_s = {each: self._ready_s[each] for each in sorted(held) if each in self._ready_s}
        for consumer in self._plan.consumers:
            self._ready_s.setdefault(consumer, ready_s)

    def _carry_out(self) -> None:
        now_s, owner = self._accounting.now_s, self._accounting.owner
        for row, partition in enumerate(self._load.partitions):
            target = self._plan[partition]
            if owner[row] != target and self._ready_s[target] <= now_s:
                self._accounting.assign(row, int(target), self._times.restow_join_s)

    def _consumers(self) -> set[ConsumerId]:
        """The consumers of the plan, and consumers that still read what others will."""
        reading = {ConsumerId(number) for number in self._accounting.owner.tolist() if number != NOBODY}
        return {*self._plan.consumers, *reading}
