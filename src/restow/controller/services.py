"""Records of the service topic: which topics the group consumes, the settings of its consumers, and what people want of
the group. They apply in every stage. Each gets an answer, which the picture shows to the command that wrote it.
"""

from dataclasses import replace
from typing import Any, assert_never

from restow.controller import failures, holds, pins, restarts, roll
from restow.controller.consumer_events import forget_refusals
from restow.controller.desired import TAKEN
from restow.controller.state import State
from restow.controller.transition import Transition
from restow.controller.transitions import Cause
from restow.model import SortedMapping
from restow.protocol.messages.desired import ConsumerRestart, GroupPause, PartitionPin, RecommendOnly
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.messages.unions import OnService


def change(transition: Transition, record: OnService, env_digest: str | None, offset: int | None) -> None:
    """`offset`: the record's; None in event logs of older versions."""
    if offset is not None:
        desired = replace(transition.state.desired, offset=offset).answered(offset, True, TAKEN)
        transition.set(desired=desired)
    match record:
        case ServiceUpdate():
            _update(transition, record, env_digest)
        case GroupPause():
            holds.pause(transition, record, offset)
        case RecommendOnly():
            holds.recommend(transition, record, offset)
        case ConsumerRestart():
            restarts.change(transition, record, offset)
        case PartitionPin():
            pins.change(transition, record, offset)
        case _:
            assert_never(record)


def _want(transition: Transition, **changes: Any) -> None:
    transition.set(desired=replace(transition.state.desired, **changes))


def _limits(state: State) -> tuple[int, int | None]:
    return state.least_consumers, state.most_consumers


def _update(transition: Transition, update: ServiceUpdate, env_digest: str | None) -> None:
    if update.consumers is not None:
        # The newest update replaces all before it: compaction removes those.
        digest = update.consumers.env_digest if env_digest is None else env_digest
        limits = _limits(transition.state)
        roll.change_settings(transition, update.consumers, digest)
        if _limits(transition.state) != limits:
            holds.look_again(transition, Cause.LIMITS)
        return
    assert update.topic is not None
    before = transition.state.service_of(update.topic)
    service = None if update.service is None else update.service.for_topic(update.topic)
    updates = {**transition.state.updates, update.topic: service}
    if update.action == "reset":
        del updates[update.topic]
    transition.set(updates=SortedMapping(updates))
    if transition.state.service_of(update.topic) != before:
        transition.replan_cause = Cause.TOPICS
        forget_refusals(transition, update.topic)
        failures.forget_topic(transition, update.topic)
