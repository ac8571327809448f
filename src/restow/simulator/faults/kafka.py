"""Kafka: delays, repeats and outages, and records on the topics that no part of the group wrote."""

from functools import partial
from typing import Final

from restow.model import SortedMapping, TopicPartition
from restow.protocol.measurement import Measurement, PartitionSpeed
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery, StopConsumingCommand
from restow.protocol.messages.consumer_events import ConsumerReady, StopConsumingEvent
from restow.protocol.messages.controller_events import ControllerStarted
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.messages.unions import Message
from restow.protocol.records import known_versions
from restow.protocol.topic_service import TopicService
from restow.simulator.faults.context import Acts, Context
from restow.simulator.faults.kinds import Fault
from restow.simulator.monitor import time_text
from restow.simulator.topics import Topic
from restow.simulator.wire import Garbage, Intruder

FAR: Final = 10**9
"""An epoch, a sequence and a number of a query beyond this group's: whatever has it looks new."""
GARBAGE: Final = (b"", b"{", b"[]", b"null", b'{"type": "StopConsumingCommand", "version": 99}', b"\xff\xfe", b"0" * 64)


def delay(context: Context) -> None:
    until_s, extra_s = context.until(10, 60), context.rng.uniform(1, 10)
    for place in context.world.kafka.places():
        log = context.world.kafka.log(*place)
        log.extra_until_s, log.extra_delay_s = until_s, extra_s


def repeats(context: Context) -> None:
    context.world.kafka.repeats_until_s = context.until(20, 90)


def reordering(context: Context) -> bool:
    controller = context.world.controller_in_charge()
    readers = [] if controller is None else controller.readers()
    process = context.consumer()
    if process is not None and process.state is not None:
        readers += [process.commands, process.queries]
    if not readers:
        return False
    context.rng.choice(readers).block(context.until(3, 40))
    return True


def outage(context: Context) -> None:
    context.world.kafka.down_until_s = context.until(3, 60)


def undecodable(context: Context) -> bool:
    if not context.world.kafka.is_up:
        return False
    for _ in range(context.rng.randint(1, 4)):
        topic, partition = context.rng.choice(context.world.kafka.places())
        context.world.kafka.append(topic, partition, Garbage(context.rng.choice(GARBAGE)))
    return True


def other_group(context: Context) -> bool:
    """For some time its processes send what would do the most harm here."""
    if context.consumer() is None:
        return False
    for _ in range(context.rng.randint(4, 10)):
        context.later(context.until(0, 40), partial(_intrude, context))
    return True


def _intrude(context: Context) -> None:
    process, topic = context.consumer(), context.topic()
    held = () if process is None else tuple(sorted(process.positions))
    if process is None or process.incarnation is None or not held or topic is None or not context.world.kafka.is_up:
        return
    number, incarnation = process.number, process.incarnation
    stopped = StopConsumingEvent(number, incarnation, FAR, FAR, SortedMapping(dict.fromkeys(held, None)))
    started = StartConsumingCommand(
        FAR, FAR, incarnation, SortedMapping({topic: TopicService()}), SortedMapping({TopicPartition(topic, 0): 0})
    )
    speeds = {each: PartitionSpeed(1e9, 1e9, 1.0, 0, 0, estimated=False) for each in context.world.data.partitions}
    records: list[tuple[Topic, int, Message | Measurement]] = [
        (Topic.CONTROLLER, 0, ControllerStarted("intruder")),
        (Topic.CONTROLLER, 0, ConsumerReady(number, True, (), SortedMapping(), known_versions())),
        (Topic.CONTROLLER, 0, stopped),
        (Topic.CONTROLLER, number, StopConsumingCommand(FAR, FAR, incarnation, held)),
        (Topic.CONTROLLER, number, started),
        (Topic.QUERY, number, StateQuery(FAR, FAR)),
        (Topic.SERVICE, 0, ServiceUpdate("remove", topic)),
        (Topic.MONITOR, 0, Measurement(time_text(context.world.agenda.now_s), 30.0, SortedMapping(speeds))),
    ]
    place, partition, message = context.rng.choice(records)
    context.world.kafka.append(place, partition, Intruder.saying(message))


KAFKA: Final[Acts] = {
    Fault.DELAY: delay,
    Fault.REPEATS: repeats,
    Fault.REORDERING: reordering,
    Fault.OUTAGE: outage,
    Fault.UNDECODABLE: undecodable,
    Fault.OTHER_GROUP: other_group,
}
