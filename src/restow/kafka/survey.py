"""Looks at topics for `restow init`: partitions, sizes, write speeds over a few seconds, and a sample of records.

It needs Describe on the topics. Without Describe on the cluster, sizes come from the sample; without Read on a topic,
nothing is known of its records.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from statistics import fmean

from restow.errors import RestowError
from restow.kafka.admin import NO_LEADER, Admin, Cluster
from restow.kafka.newest import newest_offsets, records_at
from restow.model import TopicPartition
from restow.settings import Kafka
from restow.starter.columns import shape_of
from restow.starter.facts import TopicFacts

log = logging.getLogger(__name__)

Sleep = Callable[[float], None]


def measured(
    admin: Admin, cluster: Cluster, topics: Iterable[str], seconds: float, sleep: Sleep
) -> tuple[TopicFacts, ...]:
    """What the topics hold, and how fast they are written. Raises RestowError if no broker answers."""
    topics = tuple(topics)
    partitions = cluster.partitions_of(topics)
    began_s, before = time.monotonic(), admin.end_offsets(partitions)
    starts, sizes = admin.start_offsets(partitions), _sizes(admin, cluster, topics)
    sleep(max(0.0, seconds - (time.monotonic() - began_s)))
    ends, took_s = admin.end_offsets(partitions), time.monotonic() - began_s
    written = _by_topic({each: end - before[each] for each, end in ends.items() if each in before})
    records = _by_topic({each: end - starts[each] for each, end in ends.items() if each in starts})
    return tuple(
        TopicFacts(topic, len(cluster.leaders[topic]), records[topic], sizes.get(topic), written[topic] / took_s)
        for topic in topics
    )


def sampled(kafka: Kafka, group: str, facts: TopicFacts) -> TopicFacts:
    """With the shape of its newest records, and a size if it has none yet."""
    partitions = [TopicPartition(facts.name, number) for number in range(facts.partitions)]
    try:
        offsets = newest_offsets(kafka, partitions)
        found = records_at(kafka, group, offsets) if any(offsets.values()) else {}
    except RestowError as error:
        log.warning("%s is not sampled: %s", facts.name, error)
        return facts
    records = [record for each in found.values() for record in each]
    shape = shape_of(record.value for record in records)
    if facts.size_bytes is None and records:
        facts = replace(facts, size_bytes=facts.records * fmean(record.size for record in records))
    return replace(facts, shape=shape)


def _sizes(admin: Admin, cluster: Cluster, topics: tuple[str, ...]) -> Mapping[str, float]:
    """Bytes of the leaders' logs by topic; empty if the brokers don't tell."""
    leaders = {
        TopicPartition(topic, number): node for topic in topics for number, node in enumerate(cluster.leaders[topic])
    }
    sizes: Counter[str] = Counter(dict.fromkeys(topics, 0))
    for node in sorted(set(leaders.values()) - {NO_LEADER}):
        try:
            found = admin.log_sizes(node, topics)
        except RestowError as error:
            log.warning("sizes are taken from a sample of records: %s", error)
            return {}
        for partition, size in found.items():
            if leaders.get(partition) == node:
                sizes[partition.topic] += size
    return sizes


def _by_topic(counts: Mapping[TopicPartition, int]) -> "Counter[str]":
    totals: Counter[str] = Counter()
    for partition, count in counts.items():
        totals[partition.topic] += count
    return totals
