"""`restow consume --once`: runs the Spark pipeline over the records that are there now, without a controller, and ends.

It uses the tables and the group of the consumers: records that they stored are not stored again, and if both run at the
same time, the table refuses the later one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from restow.consumer.effects import ChangeAssignment, RunCycle
from restow.consumer.pipeline import ShouldEnd
from restow.errors import RestowError
from restow.kafka.offsets import LogOffsets
from restow.model import SortedMapping, TopicPartition
from restow.pipeline.pipeline import SparkPipeline
from restow.protocol.field_types import RECOVER, StartFrom
from restow.protocol.topic_service import TopicService
from restow.settings import Settings

MOST_FAILURES: Final = 5
"""Cycles in a row that store nothing though there are records."""


@dataclass(frozen=True, slots=True)
class Run:
    records: int
    missed_records: int
    cycles: int
    is_whole: bool
    """All records that were there at the start are stored; False if it was stopped before."""


def run_once(
    settings: Settings,
    pipeline: SparkPipeline,
    partitions: Iterable[TopicPartition],
    services: Mapping[str, TopicService],
    should_end: ShouldEnd,
) -> Run:
    starts: dict[TopicPartition, StartFrom] = dict.fromkeys(partitions, RECOVER)
    topics = SortedMapping(services)
    pipeline.warm_up(should_end)
    changed = pipeline.change(ChangeAssignment((), SortedMapping(starts), topics))
    for refused in changed.refused:
        raise RestowError(refused.reason)
    ends, error = LogOffsets(settings.kafka).last_stable(starts)
    if error:
        raise error
    at, records, cycles, failures = changed.started, 0, 0, 0
    while not should_end() and any(at[p] < end for p, end in ends.items() if p in at):
        ended = pipeline.cycle(RunCycle(at, topics), should_end)
        for refused in ended.dropped:
            raise RestowError(refused.reason)
        failures = 0 if ended.positions != at or pipeline.is_searching else failures + 1
        if failures > MOST_FAILURES:
            why = ended.failures[0].reason if ended.failures else "for the reasons above"
            raise RestowError(
                f"{MOST_FAILURES + 1} cycles in a row stored nothing: {why}; what was stored before is kept"
            )
        at, records, cycles = ended.positions, records + ended.records, cycles + bool(ended.records)
    return Run(records, pipeline.missed_records, cycles, all(at[p] >= end for p, end in ends.items()))
