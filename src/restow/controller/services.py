"""Service updates: which topics the group consumes, and the settings of its consumers. They apply in every stage."""

from restow.controller import failures, roll
from restow.controller.consumer_events import forget_refusals
from restow.controller.transition import Transition
from restow.controller.transitions import Cause
from restow.model import SortedMapping
from restow.protocol.messages import ServiceUpdate


def update_service(transition: Transition, update: ServiceUpdate, env_digest: str | None) -> None:
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
