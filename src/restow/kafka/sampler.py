"""Takes samples for the monitor: which topics are of interest now, who leads them, their offsets, their bytes on disk.

`restow.roles.monitor` asks it for one sample after the other. A topic that starts to match is in the next one. What
can't be had is said in one line when it is first missed, and once more when it is back; the rest goes on.
"""

import logging
import re
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

log = logging.getLogger(__name__)


class Source(Protocol):
    """What a sampler asks: an Admin, or recorded answers (`restow bench monitor`)."""

    def cluster(self) -> Cluster: ...
    def topic_ids(self, topics: Iterable[str], /) -> Mapping[str, str]: ...
    def cleanup_policies(self, topics: Iterable[str], /) -> Mapping[str, str | RestowError]: ...
    def log_sizes(self, node: int, topics: Iterable[str] | None = None, /) -> Mapping[TopicPartition, int]: ...
    def record_sizes(self, extents: Mapping[TopicPartition, range], /) -> Answers: ...
    def start_offsets(self, partitions: Iterable[TopicPartition], /) -> Mapping[TopicPartition, int]: ...
    def end_offsets(self, partitions: Iterable[TopicPartition], /) -> Mapping[TopicPartition, int]: ...


class Interest:
    """Names, and patterns: regular expressions that start with ^ and match a whole name. What the group consumes can
    change while it runs; a topic that is removed is left off unless it is `always` measured."""

    def __init__(self, always: Iterable[str], consumed: Iterable[str] = ()) -> None:
        self._always, self._consumed = _Wanted(always), _Wanted(consumed)
        self._updates: dict[str, bool] = {}

    def update(self, topic: str, *, is_consumed: bool | None) -> None:
        """None: as it was said at first."""
        self._updates.pop(topic, None)
        if is_consumed is not None:
            self._updates[topic] = is_consumed

    @property
    def names(self) -> tuple[str, ...]:
        """Topics that should be there."""
        consumed = [name for name in self._consumed.names if self._updates.get(name, True)]
        added = [name for name, is_consumed in self._updates.items() if is_consumed]
        return tuple(sorted({*self._always.names, *consumed, *added}))

    def chosen(self, topics: Iterable[str]) -> tuple[str, ...]:
        """Those of interest, sorted. Kafka's own topics (__consumer_offsets and such) must be named to be chosen."""
        return tuple(sorted(topic for topic in topics if self._is_chosen(topic)))

    def _is_chosen(self, topic: str) -> bool:
        return self._always.covers(topic) or self._updates.get(topic, self._consumed.covers(topic))


class _Wanted:
    def __init__(self, wanted: Iterable[str]) -> None:
        wanted = tuple(wanted)
        self.names = frozenset(name for name in wanted if not name.startswith("^"))
        self._patterns = tuple(re.compile(pattern) for pattern in wanted if pattern.startswith("^"))

    def covers(self, topic: str) -> bool:
        is_own = topic.startswith("__")
        return topic in self.names or (not is_own and any(pattern.fullmatch(topic) for pattern in self._patterns))


class Sampler:
    def __init__(self, source: Source, interest: Interest) -> None:
        self._source = source
        self._interest = interest
        self._missed: dict[str, str] = {}
        self._partitions: tuple[TopicPartition, ...] = ()
        self._policies = Policies(source.cleanup_policies)
        self._told: set[int] = set()
        """Nodes that have told the sizes of their logs, at least once."""

    def sample(self) -> Sample:
        """One look. Raises NoAnswer when no broker answers."""
        cluster = self._source.cluster()
        topics = self._interest.chosen(cluster.leaders)
        self._tell_missing_topics(cluster)
        partitions = self._sorted_partitions(cluster, topics)
        ids = self._source.topic_ids(topics) if topics else {}
        compacted = self._compacted(topics, ids)
        leader = whole_numbers(cluster.leaders[topic][number] for topic, number in partitions)
        asked_s = time.monotonic()
        sizes = self._sizes(topics, sorted(set(leader.tolist()) - {NO_LEADER}))
        time_s = (asked_s + time.monotonic()) / 2
        # After the sizes, so that a deletion shows here no later than there: see restow.monitor.increments.
        starts, ends = self._source.start_offsets(partitions), self._source.end_offsets(partitions)
        answered = starts.keys() & ends.keys()
        self._told |= sizes.keys()
        untold = [
            partition
            for partition, node in zip(partitions, leader.tolist(), strict=True)
            if node not in self._told and partition in answered
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
            record_bytes=self._record_bytes({each: range(starts[each], ends[each]) for each in untold}),
        )

    def _sorted_partitions(self, cluster: Cluster, topics: Sequence[str]) -> tuple[TopicPartition, ...]:
        """The same tuple as long as it holds the same."""
        found = tuple(cluster.partitions_of(topics))
        if found != self._partitions:
            self._partitions = found
        return self._partitions

    def _compacted(self, topics: Sequence[str], ids: Mapping[str, str]) -> frozenset[str]:
        compacted, what = self._policies.compacted(topics, ids), "the cleanup.policy of topics"
        refused = [error for error in self._policies.refused().values() if isinstance(error, NotAllowed)]
        if refused:
            others = f" (and so for {len(refused) - 1} more)" if len(refused) > 1 else ""
            self._miss(what, f"{refused[0]}{others}; what compaction hides is not seen")
        else:
            self._found(what)
        return compacted

    def _sizes(self, topics: Sequence[str], nodes: Sequence[int]) -> dict[int, Mapping[TopicPartition, int]]:
        """By node. Without an answer, speeds are estimated from the records."""
        sizes: dict[int, Mapping[TopicPartition, int]] = {}
        for node in nodes:
            what = f"the sizes of node {node}'s logs"
            try:
                sizes[node] = self._sizes_on(node, topics, is_lost=what in self._missed)
                self._found(what)
            except RestowError as error:
                self._miss(what, f"{error}; until then speeds are estimated from the records")
        return sizes

    def _record_bytes(self, extents: Mapping[TopicPartition, range]) -> Mapping[TopicPartition, float]:
        """Where no size of a log is known to reckon from."""
        if not extents:
            return {}
        what = "the size of records"
        found, trouble = self._source.record_sizes(extents)
        if trouble:
            self._miss(what, f"{trouble}; what is written there counts for nothing until then")
        else:
            self._found(what)
        return found

    def _sizes_on(self, node: int, topics: Sequence[str], is_lost: bool) -> Mapping[TopicPartition, int]:
        try:
            return self._source.log_sizes(node, topics)
        except NoAnswer:
            if is_lost:
                raise
            return self._source.log_sizes(node, topics)  # over a new connection: the old one may have been stale

    def _tell_missing_topics(self, cluster: Cluster) -> None:
        for name in self._interest.names:
            what = f"the topic {name}"
            if name in cluster.leaders:
                self._found(what)
            else:
                self._miss(what, f"there is no topic {name}, or the right Describe on it is missing; others go on")

    def _miss(self, what: str, line: str) -> None:
        if what not in self._missed:
            self._missed[what] = line
            log.warning(line)

    def _found(self, what: str) -> None:
        if self._missed.pop(what, None):
            log.info("%s: back again", what)
