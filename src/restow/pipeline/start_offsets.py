"""Start offsets: finds where a newly assigned partition starts, and registers it in its sink.

The sink's position counts first; then the offset in the command; then the group's committed offset; then that of
`from_group`; then the topic's `start` setting.
"""

from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import NamedTuple

from restow.kafka.offsets import GroupOffsets, LogOffsets
from restow.model import TopicPartition
from restow.pipeline.sinks import Sink
from restow.pipeline.targets import target_of
from restow.protocol.field_types import RECOVER, StartFrom
from restow.protocol.messages.reports import Gap
from restow.protocol.topic_service import TopicService
from restow.settings import Kafka

Offsets = dict[TopicPartition, int]


class Opened(NamedTuple):
    offsets: Offsets
    """Where each partition starts."""
    refused: dict[TopicPartition, str]
    """The partitions with a gap where `on_gap = "stop"`, each with the reason."""


def gap_refusal(gap: Gap) -> str:
    return f'{gap}, and its topic has on_gap = "stop"'


class Opener:
    def __init__(self, kafka: Kafka, group: GroupOffsets, log_offsets: LogOffsets) -> None:
        self._kafka, self._group, self._log_offsets = kafka, group, log_offsets

    def open(
        self, wanted: Mapping[TopicPartition, StartFrom], service: TopicService, sink: Sink, schema: str
    ) -> Opened:
        """Raises RestowError if a start offset can't be found or registered. The sink may have registered it then; the
        next attempt finds it there."""
        known = sink.positions(wanted)
        starts = {p: start for p, start in wanted.items() if p not in known and start != RECOVER}
        starts |= self._group.committed(set(wanted) - set(known) - set(starts))
        if service.from_group is not None:
            starts |= self._committed_by(service.from_group, set(wanted) - set(known) - set(starts))
        for partition in sorted(set(wanted) - set(known) - set(starts)):
            starts[partition] = self._group.start(partition, service.start)
        sink.register(starts, schema, target_of(service).rules)
        # Another consumer may have registered the same partition first: the sink's answer counts.
        found = known | starts | (sink.positions(starts) if starts else {})
        refused = self._gaps(found) if service.on_gap == "stop" else {}
        return Opened({p: at for p, at in found.items() if p not in refused}, refused)

    def _committed_by(self, group: str, partitions: Iterable[TopicPartition]) -> Offsets:
        with closing(GroupOffsets(self._kafka, group)) as other:
            return other.committed(partitions)

    def _gaps(self, positions: Offsets) -> dict[TopicPartition, str]:
        firsts, error = self._log_offsets.first(positions)
        if error:
            raise error
        return {p: gap_refusal(Gap(p, at, firsts[p])) for p, at in sorted(positions.items()) if firsts[p] > at}
