"""Claims: what a consumer held when it crashed, and does not read before the controller has answered.

A plan treats a claim that no other consumer may hold as a partition of the claiming consumer, so that it starts there
again. In the same step every claim is answered: by a Start, or by a Stop, after which the consumer forgets it. What
another consumer has taken over stays with that one.
"""

from restow.controller.transition import Transition
from restow.controller.transitions import Cause, Phase
from restow.model import ConsumerId, TopicPartition

ANSWERED: tuple[Phase, ...] = (Phase.READY, Phase.LEAVING, Phase.LOST)


def learn(transition: Transition, consumer: ConsumerId, claims: tuple[TopicPartition, ...], will_claim: bool) -> None:
    """A consumer has said what it claims, and whether its next process would."""
    transition.change(consumer, claims=frozenset(claims), will_claim=will_claim or bool(claims))
    if claims:
        transition.learn(claims)
        transition.replan_cause = Cause.CLAIM


def are_open(transition: Transition) -> bool:
    return any(view.claims for view in transition.state.consumers.values())


def settle(transition: Transition) -> None:
    """Answers every open claim that the plan has not started."""
    for consumer, view in tuple(transition.state.consumers.items()):
        if view.claims and view.phase in ANSWERED:
            started = {partition for sent in view.sent if sent.starts for partition in sent.left}
            denied = view.claims - started - view.held
            transition.change(consumer, claims=frozenset())
            if denied:
                transition.command_stop(consumer, tuple(sorted(denied)))
