"""restow in a comparison: the real controller and consumers in the simulator, accounted like the others.

The simulator decides who reads what when; the shared model accounts for it. Its consumers work in long cycles, which
costs less time, and hand over between them; every move is accounted with the measured pause instead.
"""

from dataclasses import replace
from typing import Final

from restow.controller.state import Rules
from restow.errors import RestowError
from restow.model import SortedMapping
from restow.protocol.messages import TopicService
from restow.settings import Consumer, Controller
from restow.simulator.measures import SAMPLE_S
from restow.simulator.scenario import Level, Scenario
from restow.simulator.world import SimulatedRun
from restow.simulator.world import run as simulated
from restow.study.comparison.accounting import Accounting, Outcome
from restow.study.comparison.loads import Load
from restow.study.comparison.times import Times

CYCLE_S: Final = 8.0
CYCLES_BYTES_S: Final = 14.0
"""A cycle reads at most what a consumer reads in this time."""
MEASURE_EVERY_S: Final = 10.0
SPREAD: Final = 0.05
"""Consumers start within this share of the given time."""


def simulate(load: Load, times: Times, controller: Controller, consumer: Consumer | None = None) -> Outcome:
    """`consumer`: its cycles and its capacity are those of the comparison."""
    run = simulated(scenario_of(load, times, controller, consumer or Consumer()))
    if run.violations:
        raise RestowError(f"the simulation of {load.workload}, seed {load.seed}, violates {run.violations[0]}")
    return accounted(load, times, run)


def scenario_of(load: Load, times: Times, controller: Controller, consumer: Consumer) -> Scenario:
    settings = replace(
        consumer,
        capacity_bytes_per_s=load.capacity_bytes_per_s,
        report_every_s=CYCLE_S,
        cycle_s=CYCLE_S,
        cycle_bytes=int(load.capacity_bytes_per_s * CYCLES_BYTES_S),
    )
    topics = sorted({partition.topic for partition in load.partitions})
    services = SortedMapping({topic: TopicService(f"lake/{topic}") for topic in topics})
    return Scenario(
        load.seed,
        load.hours,
        load.workload,
        Level.NONE,
        load.partitions,
        per_consumer=1,
        rules=Rules(controller, settings, services),
        measure_every_s=MEASURE_EVERY_S,
        start_s=((1 - SPREAD) * times.start_s, (1 + SPREAD) * times.start_s),
        table=load.speeds,
    )


def accounted(load: Load, times: Times, run: SimulatedRun) -> Outcome:
    """Plays what the simulator's consumers held through the shared model."""
    accounting = Accounting(load.speeds, load.capacity_bytes_per_s, times.cycle_s, load.counted_from_s)
    rows = {partition: row for row, partition in enumerate(load.partitions)}
    consumers, holdings = run.measures.series.consumers, run.measures.holdings
    begun = 0
    while not accounting.is_over:
        while begun < len(holdings) and holdings[begun][0] <= accounting.now_s:
            _, partition, consumer = holdings[begun]
            accounting.assign(rows[partition], int(consumer), times.restow_join_s)
            begun += 1
        accounting.advance(consumers[min(int(accounting.now_s / SAMPLE_S), len(consumers) - 1)])
    return accounting.outcome()
