"""Broken code: what becomes of a consumer that starts and can't run a transform that the group runs.

Modules change on disk while consumers run, and a process loads them when it starts. If another consumer still runs what
the new process can't, the new one is deleted, and others read its partitions with the code that they have loaded:
broken code costs one consumer. If no other can run the transform either, the consumer stays, and refuses the partitions
of that transform only.
"""

from collections.abc import Iterable
from typing import Final

from restow.controller import starts
from restow.controller.state import State, View
from restow.controller.transition import Transition
from restow.controller.transitions import Phase
from restow.model import ConsumerId
from restow.protocol.messages.consumer_events import ConsumerReady

BROKEN: Final = "broken code"
"""The flag that is raised while the last process that started can't run a transform."""
JUDGED: Final = (Phase.AWAITED, Phase.READY, Phase.RESTARTED, Phase.CRASHED, Phase.ROLLING)


def learn(transition: Transition, message: ConsumerReady) -> None:
    """Every process loads what is on disk when it starts, so that the last one counts."""
    transition.change(message.consumer, broken=frozenset(message.broken))
    if message.broken:
        transition.flag(BROKEN, "; ".join(message.broken.values()))
    else:
        transition.clear(BROKEN, "every transform can be run")


def learn_from_refusal(transition: Transition, consumer: ConsumerId, topics: Iterable[str]) -> None:
    """A consumer with outdated settings can't run the transforms of these topics: a roll restarts it first. Of one with
    the current settings nothing is concluded: the definition may be what is wrong."""
    view = transition.state.consumers[consumer]
    if view.settings not in (None, transition.state.fingerprint):
        refused = {name for name in transforms(transition.state, topics) if name is not None}
        transition.change(consumer, broken=view.broken | refused)


def gives_up(transition: Transition, before: View, message: ConsumerReady) -> bool:
    """Gives the consumer up if others can run what it can't. `before` is the view before its ConsumerReady, whose
    content the state has."""
    lost = _lost(transition.state, before, message)
    is_leaving = before.phase not in JUDGED
    if not lost or is_leaving or (before.phase is Phase.AWAITED and message.partitions):
        return False
    reasons = "; ".join(message.broken[name] for name in lost)
    starts.code_failed(transition, message.consumer, before.phase, f"can't run its code ({reasons})")
    return True


def _lost(state: State, before: View, message: ConsumerReady) -> tuple[str, ...]:
    """The transforms that this process can't run and another can, if they are in use: the other runs it, or this
    consumer did before it was restarted in a roll."""
    if not message.broken:
        return ()
    rolled = {partition.topic for partition in before.held_before_roll}
    others = [v for n, v in state.consumers.items() if n != message.consumer and v.phase is Phase.READY]
    used = {
        name for view in others for name in transforms(state, rolled.union(view.definitions)) if name not in view.broken
    }
    return tuple(name for name in message.broken if name in used)


def transforms(state: State, topics: Iterable[str]) -> set[str | None]:
    services = (state.service_of(topic) for topic in topics)
    return {service.transform for service in services if service is not None}
