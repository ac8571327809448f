"""Rehearsals: a consumer without partitions, such as a spare, runs small cycles that store nothing.

A JVM interprets its code at first and compiles what runs often. One small cycle, the warm-up, loads the classes; the
first real cycles of a consumer that was only warmed up still take several times as long as later ones, and longest when
it takes over from a consumer that crashed: then another Spark starts on the same cores.

A rehearsal reads a few records of partitions that the group consumes, which also connects their Kafka clients. It plans
the group's own transforms, but leaves all records out before they get there: a record that kills its consumers must not
kill the spare. Records of restow's own topic go through a transform of its own, as in the warm-up (warm_up.py).
"""

from collections.abc import Mapping
from typing import Final

from restow.consumer.planning import Range
from restow.kafka.offsets import LogOffsets
from restow.model import TopicPartition
from restow.pipeline.spark.warm_up import OTHERS_RECORDS, ScratchSink, newest_records, warm_up_cycle
from restow.pipeline.targets import Target, TargetCycle, target_of
from restow.settings import Settings

PARTITIONS: Final = 8
"""Of each table. Their Kafka clients stay connected."""


def rehearsal(settings: Settings, offsets: LogOffsets) -> list[TargetCycle]:
    """The warm-up's cycle, and one for each table of restow.toml whose topics have records."""
    cycles = [warm_up_cycle(settings, offsets)]
    for target, topics in _topics(settings).items():
        ranges = newest_records(offsets, offsets.partitions(topics)[:PARTITIONS], OTHERS_RECORDS)
        if any(taken.records for taken in ranges.values()):
            cycles.append(TargetCycle(target, ranges, 0.0, ScratchSink(), rejected=_all(ranges)))
    return cycles


def _topics(settings: Settings) -> dict[Target, list[str]]:
    """Those of a regular expression are not known here."""
    found: dict[Target, list[str]] = {}
    for name, each in settings.consume.items():
        if not name.startswith("^"):
            found.setdefault(target_of(each.for_topic(name)), []).append(name)
    return found


def _all(ranges: Mapping[TopicPartition, Range]) -> dict[TopicPartition, frozenset[int]]:
    return {partition: frozenset(range(taken.first, taken.next)) for partition, taken in ranges.items()}
