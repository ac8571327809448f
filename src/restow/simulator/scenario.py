"""What a run simulates: duration, partitions, workload, topics and settings. Whatever is not given is drawn from the
seed, so that a search over seeds meets small and large groups, both kinds of sinks, short and long timeouts.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import ceil
from typing import Final

from restow.controller.state import Rules
from restow.model import SortedMapping, Speeds, TopicPartition
from restow.protocol.topic_service import TopicService
from restow.settings import START_CAPACITY_BYTES_PER_S, Consumer, Controller, Schedule
from restow.simulator.machines import MachineTraits
from restow.simulator.workloads import GENERATORS, STEP_S, Table, generated, recorded, silenced, surged

HOUR_S: Final = 3600.0
TRACE_STEP_S: Final = 30.0
"""One step of a recorded trace, as in the studies."""
LARGE: Final = 1000
"""From this many partitions on, cycles, reports and measurements are rarer, as in large groups."""
SURGES: Final = 0.5
"""The share of runs with faults in which the load rises steadily for a while."""
SCHEDULED: Final = 0.33
"""The share of runs with faults that have a schedule."""
OLDER: Final = 0.12
"""The share of runs with faults in which some consumers are of an older version."""
SILENT_STEPS: Final = 36
SILENT_TO_THE_END: Final = 1 / 3
PARTITIONS_PER_CONSUMER: Final = 20
PARTITIONS_PER_CONSUMER_DRAWN: Final = (3, 4, 5, 6)


class Level(StrEnum):
    NONE = "none"
    SOME = "some"
    MANY = "many"


@dataclass(frozen=True)
class Scenario:
    seed: int
    hours: float
    workload: str
    faults: Level
    partitions: tuple[TopicPartition, ...]
    per_consumer: int
    """About how many partitions one consumer carries on average."""
    rules: Rules
    measure_every_s: float = 5.0
    overhead_s: float = 0.4
    """The fixed time of a cycle, before it reads."""
    trace: tuple[Speeds, ...] | None = None
    kept_s: float | None = None
    """For how long topics keep their records, as far as controllers know; None if they don't know it. Nothing is
    deleted for it."""
    schedule: tuple[Schedule, ...] = ()
    """In UTC."""
    encodes: bool = False
    """Whether records are the protocol's bytes instead of messages."""
    machines: MachineTraits | None = None
    """The machines of a run in which capacities are learned; None if the capacity is given."""
    older_consumers: bool = False
    """Whether some consumers are of a version that does not know claims."""
    start_s: tuple[float, float] = (2.0, 8.0)
    """The shortest and the longest time that a consumer takes to start."""
    table: Table | None = field(default=None, compare=False, repr=False)
    """The speeds, if they are neither drawn nor a trace."""

    @property
    def duration_s(self) -> float:
        return self.hours * HOUR_S

    @property
    def quiet_s(self) -> float:
        """The time at the end without faults, in which the group must recover."""
        return min(480.0, 0.4 * self.duration_s)

    @property
    def capacity_bytes_per_s(self) -> float:
        """As given, or of the mean machine."""
        if self.machines is not None:
            return self.machines.base
        return self.rules.consumer.capacity_bytes_per_s or START_CAPACITY_BYTES_PER_S

    @property
    def consumer(self) -> Consumer:
        return self.rules.consumer

    def random(self, purpose: str) -> random.Random:
        """A generator for each purpose: what one part draws does not affect the others."""
        return random.Random(f"{self.seed}/{purpose}")

    def speeds(self) -> Table:
        if self.table is not None:
            return self.table
        steps = ceil(self.duration_s / STEP_S) + 1
        if self.trace is not None:
            return recorded(self.trace, self.partitions, steps, round(TRACE_STEP_S / STEP_S))
        mean, most = self.capacity_bytes_per_s * 0.8 / self.per_consumer, self.capacity_bytes_per_s * 0.7
        if self.machines is not None:  # the slowest machine carries the fastest partition
            most *= self.machines.slowest
            mean *= 0.8
        table = generated(self.workload, self.random("workload"), len(self.partitions), steps, mean, most)
        return table if self.faults is Level.NONE else self._surged(table, most)

    def _surged(self, table: Table, most: float) -> Table:
        """In half of the runs with faults the load rises steadily for a minute, and falls again before the
        quiet period."""
        rng = self.random("surge")
        rising = rng.randint(4, 8)
        last = int((self.duration_s - self.quiet_s) / STEP_S) - 2 * rising
        if rng.random() < SURGES and last > 0:
            table = surged(table, rng.randrange(last), rising, rng.uniform(1.5, 2.5), most)
        return self._silenced(table)

    def _silenced(self, table: Table) -> Table:
        """In runs that may be parked, nothing is written in the last minutes before the quiet period, and in a third
        of them to the very end."""
        rng, end = self.random("silence"), int((self.duration_s - self.quiet_s) / STEP_S)
        if self.rules.controller.park_after_s is None or end < 2 * SILENT_STEPS:
            return table
        before = rng.randint(SILENT_STEPS // 2, SILENT_STEPS)
        is_last = rng.random() < SILENT_TO_THE_END
        return silenced(table, end - before, table.shape[1] if is_last else before)


def scenario(
    seed: int,
    hours: float = 0.5,
    partitions: int | None = None,
    workload: str | None = None,
    faults: Level = Level.NONE,
    trace: Sequence[Speeds] | None = None,
    capacity_bytes_per_s: float = 1_000_000.0,
    learns: bool = False,
) -> Scenario:
    """`learns`: no capacity is given; the machines of consumers are drawn from the seed, and learned."""
    rng = random.Random(f"{seed}/scenario")
    count = rng.randint(5, 14)
    per_consumer = rng.choice(PARTITIONS_PER_CONSUMER_DRAWN)
    drawn = rng.choice(sorted(GENERATORS))
    topics = rng.randint(2, 4)
    if partitions is not None:
        count, per_consumer, topics = partitions, PARTITIONS_PER_CONSUMER, min(4, partitions)
    names = tuple(sorted(TopicPartition(f"topic-{n % topics}", n // topics) for n in range(count)))
    if trace is not None:
        names = tuple(sorted({partition for speeds in trace for partition in speeds}))
    large = len(names) >= LARGE
    machines = _machines(seed, len(names) / per_consumer) if learns else None
    if machines is not None:
        capacity_bytes_per_s = machines.base
    consumer = Consumer(
        capacity_bytes_per_s=None if learns else capacity_bytes_per_s,
        report_every_s=20.0 if large else 8.0,
        grace_s=10.0,
        cycle_s=20.0 if large else 8.0,
        cycle_bytes=int(capacity_bytes_per_s * (40.0 if large else 14.0)),
        resume_after_s=random.Random(f"{seed}/resume").choice((5.0, 10.0, 20.0)),
    )
    return Scenario(
        seed,
        hours,
        "a trace" if trace is not None else workload or drawn,
        faults,
        names,
        per_consumer,
        Rules(
            _with_policy(seed, faults, _controller(rng, large, _least(seed, faults))), consumer, _services(rng, names)
        ),
        measure_every_s=15.0 if large else 9.0,
        trace=None if trace is None else tuple(trace),
        kept_s=None if faults is Level.NONE else random.Random(f"{seed}/kept").choice((None, None, 330.0)),
        schedule=_schedule(seed, hours, faults),
        encodes=not large and rng.random() < 0.2,
        machines=machines,
        older_consumers=faults is not Level.NONE and random.Random(f"{seed}/older").random() < OLDER,
    )


def _machines(seed: int, consumers: float) -> MachineTraits:
    """`consumers`: about how many the load needs. Shared cores suffice for it, and not for many more consumers."""
    rng = random.Random(f"{seed}/machines")
    return MachineTraits(
        base=START_CAPACITY_BYTES_PER_S * rng.uniform(0.7, 2.5),
        drift=rng.random() < 0.7,
        heavy=rng.random() < 0.5,
        shared_cores=rng.choice((None, None, 2.5 * consumers)),
        lies=rng.random() < 0.4,
    )


def _least(seed: int, faults: Level) -> int:
    """The least number of consumers. Runs without faults have the number that their load needs."""
    return 0 if faults is Level.NONE else random.Random(f"{seed}/least").choice((0, 0, 2, 3))


def _controller(rng: random.Random, large: bool, least: int) -> Controller:
    """Short timeouts, so that every one of them expires, and the group recovers, within half an hour."""
    return Controller(
        least_consumers=least,
        answer_within_s=30.0 if large else rng.uniform(6, 12),
        most_tries=rng.randint(2, 3),
        ready_within_s=180.0 if large else rng.uniform(40, 70),
        silent_after_s=60.0 if large else rng.uniform(20, 30),
        create_again_after_s=5.0,
        stuck_after_s=25.0,
        refused_again_after_s=3.0,
        list_every_s=rng.uniform(10, 20),
        take_over_after_s=rng.uniform(6, 14),
    )


def _with_policy(seed: int, faults: Level, controller: Controller) -> Controller:
    """When to close consumers: short times, so that half an hour with faults closes some; in some runs at once. Runs
    without faults have the defaults."""
    if faults is Level.NONE:
        return controller
    rng = random.Random(f"{seed}/policy")
    return replace(
        controller,
        close_after_s=rng.choice((0.0, 30.0, 60.0, 120.0)),
        cool_down_after_opening_s=rng.choice((0.0, 20.0, 60.0, 60.0)),
        cool_down_after_closing_s=rng.choice((0.0, 10.0, 30.0)),
        park_after_s=rng.choice((None, 60.0)),
        predict_at_most=rng.choice((0.0, 0.5, 0.5)),
        most_moves_per_h=rng.choice((None, None, 60)),
        spares=random.Random(f"{seed}/spares").choice((0, 0, 0, 1)),
    )


def _schedule(seed: int, hours: float, faults: Level) -> tuple[Schedule, ...]:
    """In a third of the runs with faults: windows of some minutes, which have ended when the quiet period begins."""
    rng = random.Random(f"{seed}/schedule")
    last = int(hours * HOUR_S * 0.6 / 60) - 8
    if faults is Level.NONE or last < 2 or rng.random() >= SCHEDULED:
        return ()
    begins = sorted(rng.sample(range(1, last + 1), 2))
    what = rng.choice(({"hold": True}, {"least": rng.randint(2, 4)}, {"most": rng.randint(1, 3)}))
    return (Schedule(f"{','.join(map(str, begins))} * * * *", f"{rng.randint(1, 4)}m", **what),)


def _services(rng: random.Random, partitions: Sequence[TopicPartition]) -> SortedMapping[str, TopicService]:
    """The first topic's table refuses late writes; of the others some do, and some don't know offsets."""
    services = {}
    for number, topic in enumerate(dict.fromkeys(partition.topic for partition in partitions)):
        refuses = number == 0 or rng.random() < 0.6
        start = "latest" if rng.random() < 0.2 else "earliest"
        services[topic] = TopicService(f"lake/{topic}", f"code:topic_{number}", start, refuses)
    return SortedMapping(services)
