"""Samples the cluster for the monitor: the measured topics, their leaders, offsets and bytes on disk.

`roles/monitor.py` takes one sample after the other. A topic that starts to match a pattern is in the next one. What
can't be sampled is logged when it is first missing and when it is back; the rest of the sample is taken without it.
"""

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from restow.errors import RestowError
from restow.kafka.admin import NO_LEADER, Cluster
from restow.kafka.errors import NoAnswer, NotAllowed
from restow.kafka.policies import Policies
from restow.kafka.record_sizes import Answers
from restow.model import TopicPartition
from restow.monitor.sample import NO_ANSWER, UNREADABLE, Sample, flags, whole_numbers
from restow.protocol.topic_names import NamesAndPatterns, topics_of_groups

log = logging.getLogger(__name__)


class Source(Protocol):
    """Where samples come from: an Admin, or recorded answers in `restow bench monitor`."""

    def cluster(self) -> Cluster: ...
    def topic_ids(self, topics: Iterable[str], /) -> Mapping[str, str]: ...
    def cleanup_policies(self, topics: Iterable[str], /) -> Mapping[str, str | RestowError]: ...
    def log_sizes(self, node: int, topics: Iterable[str] | None = None, /) -> Mapping[TopicPartition, int]: ...
    def record_sizes(self, ranges: Mapping[TopicPartition, range], /) -> Answers: ...
    def start_offsets(self, partitions: Iterable[TopicPartition], /) -> Mapping[TopicPartition, int]: ...
    def end_offsets(self, partitions: Iterable[TopicPartition], /) -> Mapping[TopicPartition, int]: ...


class Interest:
    """Which topics to measure, by name or by pattern. The group's topics can change while it runs; a removed one is
    measured on only if it is in `always`. `own` are the topics over which the group communicates."""

    def __init__(self, always: Iterable[str], consumed: Iterable[str] = (), own: Iterable[str] = ()) -> None:
        self._always, self._consumed = NamesAndPatterns(always), NamesAndPatterns(consumed)
        self._own = frozenset(own)
        self._updates: dict[str, bool] = {}

    def update(self, topic: str, *, is_consumed: bool | None) -> None:
        """None restores what the settings say about the topic."""
        self._updates.pop(topic, None)
        if is_consumed is not None:
            self._updates[topic] = is_consumed

    @property
    def names(self) -> tuple[str, ...]:
        """The topics that are measured by name and should exist."""
        consumed = [name for name in self._consumed.names if self._updates.get(name, True)]
        added = [name for name, is_consumed in self._updates.items() if is_consumed]
        return tuple(sorted({*self._always.names, *consumed, *added}))

    def chosen(self, topics: Iterable[str]) -> tuple[str, ...]:
        """The topics to measure among all of the cluster, sorted. Those of Kafka and of restow's groups match by name
        only."""
        topics = tuple(topics)
        restows = self._own | topics_of_groups(topics)
        return tuple(sorted(topic for topic in topics if self._is_chosen(topic, topic in restows)))

    def _is_chosen(self, topic: str, is_restows: bool) -> bool:
        if self._always.entry_for(topic, is_restows=is_restows) is not None:
            return True
        is_consumed = self._consumed.entry_for(topic, is_restows=is_restows) is not None
        return self._updates.get(topic, is_consumed)


class Sampler:
    def __init__(self, source: Source, interest: Interest) -> None:
        self._source = source
        self._interest = interest
        self._missing: dict[str, str] = {}
        self._partitions: tuple[TopicPartition, ...] = ()
        self._policies = Policies(source.cleanup_policies)
        self._nodes_with_sizes: set[int] = set()
        """Nodes that have returned the sizes of their logs at least once."""

    def sample(self) -> Sample:
        """Takes a sample. Raises NoAnswer if no broker answers."""
        cluster = self._source.cluster()
        topics = self._interest.chosen(cluster.leaders)
        self._check_topics(cluster)
        partitions = self._sorted_partitions(cluster, topics)
        ids = self._source.topic_ids(topics) if topics else {}
        compacted = self._compacted(topics, ids)
        leader = whole_numbers(cluster.leaders[topic][number] for topic, number in partitions)
        asked_s = time.monotonic()
        sizes = self._sizes(topics, sorted(set(leader.tolist()) - {NO_LEADER}))
        time_s = (asked_s + time.monotonic()) / 2
        # Offsets after sizes: a deletion must show in the offsets no later than in the sizes (monitor/increments.py).
        starts, ends = self._source.start_offsets(partitions), self._source.end_offsets(partitions)
        answered = starts.keys() & ends.keys()
        self._nodes_with_sizes |= sizes.keys()
        without_size = [
            partition
            for partition, node in zip(partitions, leader.tolist(), strict=True)
            if node not in self._nodes_with_sizes and partition in answered
        ]
        return Sample(
            time_s=time_s,
            partitions=partitions,
            topic_ids=ids,
            leader=leader,
            start_offset=whole_numbers(starts.get(partition, 0) for partition in partitions),
            end_offset=whole_numbers(
                ends[partition] if partition in answered else NO_ANSWER for partition in partitions
            ),
            size_bytes=whole_numbers(
                sizes.get(node, {}).get(partition, UNREADABLE)
                for partition, node in zip(partitions, leader.tolist(), strict=True)
            ),
            compacted=flags(topic in compacted for topic, _ in partitions),
            record_bytes=self._record_bytes({each: range(starts[each], ends[each]) for each in without_size}),
        )

    def _sorted_partitions(self, cluster: Cluster, topics: Sequence[str]) -> tuple[TopicPartition, ...]:
        """Returns the same tuple object until the partitions change."""
        found = tuple(cluster.partitions_of(topics))
        if found != self._partitions:
            self._partitions = found
        return self._partitions

    def _compacted(self, topics: Sequence[str], ids: Mapping[str, str]) -> frozenset[str]:
        compacted, what = self._policies.compacted(topics, ids), "the cleanup.policy of topics"
        refused = [error for error in self._policies.refused().values() if isinstance(error, NotAllowed)]
        if refused:
            others = f" (and for {len(refused) - 1} more)" if len(refused) > 1 else ""
            self._miss(what, f"{refused[0]}{others}; until then compacted topics are measured as if they weren't")
        else:
            self._found(what)
        return compacted

    def _sizes(self, topics: Sequence[str], nodes: Sequence[int]) -> dict[int, Mapping[TopicPartition, int]]:
        """The sizes of logs by node. For a node without an answer, speeds are estimated from record counts."""
        sizes: dict[int, Mapping[TopicPartition, int]] = {}
        for node in nodes:
            what = f"the sizes of node {node}'s logs"
            try:
                sizes[node] = self._sizes_on(node, topics, is_missing=what in self._missing)
                self._found(what)
            except RestowError as error:
                self._miss(what, f"{error}; until then speeds are estimated from the records")
        return sizes

    def _record_bytes(self, ranges: Mapping[TopicPartition, range]) -> Mapping[TopicPartition, float]:
        """The mean record size of partitions whose log size was never known."""
        if not ranges:
            return {}
        what = "the size of records"
        found, error = self._source.record_sizes(ranges)
        if error:
            self._miss(what, f"{error}; until then its speed counts as 0")
        else:
            self._found(what)
        return found

    def _sizes_on(self, node: int, topics: Sequence[str], is_missing: bool) -> Mapping[TopicPartition, int]:
        try:
            return self._source.log_sizes(node, topics)
        except NoAnswer:
            if is_missing:
                raise
            return self._source.log_sizes(node, topics)  # on a new connection: the old one may be stale

    def _check_topics(self, cluster: Cluster) -> None:
        for name in self._interest.names:
            what = f"the topic {name}"
            if name in cluster.leaders:
                self._found(what)
            else:
                self._miss(
                    what, f"there is no topic {name}, or the right Describe on it is missing; the others are measured"
                )

    def _miss(self, what: str, line: str) -> None:
        if what not in self._missing:
            self._missing[what] = line
            log.warning(line)

    def _found(self, what: str) -> None:
        if self._missing.pop(what, None):
            log.info("%s can be read again", what)
