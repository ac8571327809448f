"""Opens partitions for the Spark pipeline: finds where each begins, and has its table know it from then on.

The position is the table's; else where it is told to begin; else the group's committed offset; else that of the group
which it goes on from; else the topic's start setting.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from typing import NamedTuple

from restow.kafka.offsets import GroupOffsets, LogOffsets
from restow.model import TopicPartition
from restow.pipeline.sinks import Nowhere, Sink, TableSink
from restow.pipeline.table import Table
from restow.protocol.messages import RECOVER, Gap, StartFrom, TopicService
from restow.settings import Kafka

OpenTable = Callable[[str], Table]
"""By the address that `[consume.NAME]` has."""

Offsets = dict[TopicPartition, int]


class Target(NamedTuple):
    """What is read, transformed and stored together: topics that become the same rows of the same table."""

    table: str
    transform: str
    lineage: bool


def target_of(service: TopicService) -> Target:
    return Target(service.table or "", service.transform or "", service.lineage)


class Opened(NamedTuple):
    offsets: Offsets
    """Where each begins."""
    refused: dict[TopicPartition, str]
    """Those that have a gap which is not to be passed over, and the words for it."""


def refusal_line(gap: Gap) -> str:
    return f'{gap}, and its topic has on_gap = "stop"'


class Sinks:
    """Those that are open, each table once."""

    def __init__(self, open_table: OpenTable) -> None:
        self._open_table = open_table
        self._open: dict[str, Sink] = {"": Nowhere()}

    def of(self, target: Target) -> Sink:
        if target.table not in self._open:
            self._open[target.table] = TableSink(self._open_table(target.table))
        return self._open[target.table]

    def keep(self, targets: Iterable[Target]) -> None:
        kept = {"", *(target.table for target in targets)}
        for table in sorted(set(self._open) - kept):
            self._open.pop(table).close()


class Opener:
    def __init__(self, kafka: Kafka, group: GroupOffsets, log_offsets: LogOffsets) -> None:
        self._kafka, self._group, self._log_offsets = kafka, group, log_offsets

    def open(
        self, wanted: Mapping[TopicPartition, StartFrom], service: TopicService, sink: Sink, schema: str
    ) -> Opened:
        """Raises RestowError: nothing was opened then, though the table may know it from now on."""
        known = sink.positions(wanted)
        begins = {p: start for p, start in wanted.items() if p not in known and start != RECOVER}
        begins |= self._group.committed(set(wanted) - set(known) - set(begins))
        if service.from_group is not None:
            begins |= self._committed_by(service.from_group, set(wanted) - set(known) - set(begins))
        for partition in sorted(set(wanted) - set(known) - set(begins)):
            begins[partition] = self._group.start(partition, service.start)
        sink.begin(begins, schema)
        # Somebody may have begun the same partition a moment before us: what the sink says now is what counts.
        found = known | begins | sink.positions(begins)
        refused = self._gaps(found) if service.on_gap == "stop" else {}
        return Opened({p: at for p, at in found.items() if p not in refused}, refused)

    def _committed_by(self, group: str, partitions: Iterable[TopicPartition]) -> Offsets:
        with closing(GroupOffsets(self._kafka, group)) as other:
            return other.committed(partitions)

    def _gaps(self, positions: Offsets) -> dict[TopicPartition, str]:
        firsts, trouble = self._log_offsets.first(positions)
        if trouble:
            raise trouble
        return {p: refusal_line(Gap(p, at, firsts[p])) for p, at in sorted(positions.items()) if firsts[p] > at}
