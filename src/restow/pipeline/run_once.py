"""What is there now, and no more: `restow consume --once` runs the pipeline over it and ends. No controller is needed.

Tables and group are the same as those of the consumers; what these have stored already is not stored again, and if both
run at the same time, the table refuses whoever is late.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from restow.consumer.effects import ChangeAssignment, RunCycle
from restow.errors import RestowError
from restow.kafka.offsets import LogOffsets
from restow.model import SortedMapping, TopicPartition
from restow.pipeline.pipeline import SparkPipeline
from restow.protocol.messages import RECOVER, StartFrom, TopicService
from restow.settings import Settings

MOST_FAILURES = 5
"""Cycles in a row that store nothing though there is something."""


@dataclass(frozen=True, slots=True)
class Run:
    records: int
    missed_records: int
    cycles: int
    is_whole: bool
    """Everything that was there when it began is stored; if not, it was told to stop."""


def run_once(
    settings: Settings,
    pipeline: SparkPipeline,
    partitions: Iterable[TopicPartition],
    services: Mapping[str, TopicService],
    should_end: Callable[[], bool],
) -> Run:
    starts: dict[TopicPartition, StartFrom] = dict.fromkeys(partitions, RECOVER)
    topics = SortedMapping(services)
    pipeline.warm_up(should_end)
    changed = pipeline.change(ChangeAssignment((), SortedMapping(starts), topics))
    for refused in changed.refused:
        raise RestowError(refused.reason)
    ends, trouble = LogOffsets(settings.kafka).last_stable(starts)
    if trouble:
        raise trouble
    at, records, cycles, failures = changed.started, 0, 0, 0
    while not should_end() and any(at[p] < end for p, end in ends.items() if p in at):
        ended = pipeline.cycle(RunCycle(at, topics), should_end)
        for refused in ended.dropped:
            raise RestowError(refused.reason)
        failures = 0 if ended.positions != at else failures + 1
        if failures > MOST_FAILURES:
            raise RestowError("nothing more could be stored, for the reasons above; what was stored before is stored")
        at, records, cycles = ended.positions, records + ended.records, cycles + bool(ended.records)
    return Run(records, pipeline.missed_records, cycles, all(at[p] >= end for p, end in ends.items()))
