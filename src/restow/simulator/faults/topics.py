"""Topics and their tables: more partitions, changed definitions, tables that can't be written, deleted records."""

from dataclasses import replace
from typing import Final

from restow.model import TopicPartition
from restow.protocol.messages.service import ServiceUpdate
from restow.simulator.consumer import BROKEN_TRANSFORM
from restow.simulator.faults.context import Acts, Context
from restow.simulator.faults.kinds import Fault


def new_partitions(context: Context) -> bool:
    topic = context.topic()
    if topic is None:
        return False
    there = [partition for partition in context.world.data.partitions if partition.topic == topic]
    for _ in range(context.rng.randint(1, 2)):
        context.world.add_partition(TopicPartition(topic, len(there)), like=context.rng.choice(there))
        there.append(TopicPartition(topic, len(there)))
    return True


def topic_removed(context: Context) -> bool:
    topic, service = context.topic_and_service()
    wanted = [service for service in context.world.services.values() if service is not None]
    if topic is None or len(wanted) < 2:
        return False
    context.update(ServiceUpdate("remove", topic))
    context.later(context.until(5, 150), lambda: context.update(ServiceUpdate("add", topic, service)))
    return True


def topic_changed(context: Context) -> bool:
    topic, service = context.topic_and_service()
    if service is None:
        return False
    version = context.next_version()
    table = service.table if context.rng.random() < 0.5 else f"lake/{topic}-{version}"
    changed = replace(service, table=table, transform=f"module:version_{version}")
    context.update(ServiceUpdate("change", topic, changed))
    return True


def broken_transform(context: Context) -> bool:
    topic, service = context.topic_and_service()
    if service is None:
        return False
    context.update(ServiceUpdate("change", topic, replace(service, transform=BROKEN_TRANSFORM)))
    context.later(context.until(10, 60), lambda: context.update(ServiceUpdate("change", topic, service)))
    return True


def broken_table(context: Context) -> bool:
    topic = context.topic()
    if topic is None:
        return False
    context.world.sinks.broken_until_s[topic] = context.until(10, 90)
    return True


def gap(context: Context) -> bool:
    wanted = list(context.world.consumed())
    if wanted:
        until_s = context.until(10, 60)
        context.world.sinks.gap_until_s.update(dict.fromkeys(context.rng.sample(wanted, min(2, len(wanted))), until_s))
    return bool(wanted)


TOPICS: Final[Acts] = {
    Fault.NEW_PARTITIONS: new_partitions,
    Fault.TOPIC_REMOVED: topic_removed,
    Fault.TOPIC_CHANGED: topic_changed,
    Fault.BROKEN_TRANSFORM: broken_transform,
    Fault.BROKEN_TABLE: broken_table,
    Fault.GAP: gap,
}
