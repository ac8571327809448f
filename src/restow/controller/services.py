"""Records of the service topic: which topics the group consumes, the settings of its consumers, and what people want of
the group. They apply in every stage. Each gets an answer, which the picture shows to the command that wrote it.
"""

from dataclasses import replace
from typing import Any, TypeVar, assert_never

from restow.controller import failures, roll
from restow.controller.consumer_events import forget_refusals
from restow.controller.desired import TAKEN
from restow.controller.transition import Transition
from restow.controller.transitions import Cause
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.desired import ConsumerRestart, GroupPause, PartitionPin, RecommendOnly
from restow.protocol.messages import OnService, ServiceUpdate

K = TypeVar("K", ConsumerId, TopicPartition)
V = TypeVar("V")


def change(transition: Transition, record: OnService, env_digest: str | None, offset: int | None) -> None:
    """`offset`: the record's; None in event logs of older versions."""
    if offset is not None:
        desired = replace(transition.state.desired, offset=offset).answered(offset, True, TAKEN)
        transition.set(desired=desired)
    match record:
        case ServiceUpdate():
            _update(transition, record, env_digest)
        case GroupPause():
            _want(transition, pause=record if record.paused else None)
        case RecommendOnly():
            _want(transition, recommend=record if record.on else None)
        case ConsumerRestart(consumer, up_to):
            restarts = _with(transition.state.desired.restarts, consumer, record if up_to is not None else None)
            _want(transition, restarts=restarts)
        case PartitionPin(partition, consumer):
            pins = _with(transition.state.desired.pins, partition, record if consumer is not None else None)
            _want(transition, pins=pins)
        case _:
            assert_never(record)


def _want(transition: Transition, **changes: Any) -> None:
    transition.set(desired=replace(transition.state.desired, **changes))


def _with(known: SortedMapping[K, V], key: K, value: V | None) -> SortedMapping[K, V]:
    """None is the default, which is not kept."""
    others = {other: kept for other, kept in known.items() if other != key}
    return SortedMapping(others if value is None else {**others, key: value})


def _update(transition: Transition, update: ServiceUpdate, env_digest: str | None) -> None:
    if update.consumers is not None:
        # The newest update replaces all before it: compaction removes those.
        digest = update.consumers.env_digest if env_digest is None else env_digest
        roll.change_settings(transition, update.consumers, digest)
        return
    assert update.topic is not None
    before = transition.state.service_of(update.topic)
    updates = {**transition.state.updates, update.topic: update.service}
    if update.action == "reset":
        del updates[update.topic]
    transition.set(updates=SortedMapping(updates))
    if transition.state.service_of(update.topic) != before:
        transition.replan_cause = Cause.TOPICS
        forget_refusals(transition, update.topic)
        failures.forget_topic(transition, update.topic)
