"""Synchronize: on every start, before any decision, learns which consumers exist and what each one holds.

Every consumer that the platform lists gets a query; its messages before the answer are ignored. A consumer that starts
in the meantime reports the same with its ConsumerReady, and obeys no earlier command. Later lists are compared with
what is known, and a consumer that is unknown (a former controller's last request) is queried in the same way.

While consumers of the group report from another platform (foreign.py), it does not end: no second set of consumers
reads beside the first.
"""

from restow.controller import foreign
from restow.controller.effects import ListConsumers
from restow.controller.events import TookOver
from restow.controller.platform_events import gone
from restow.controller.state import State
from restow.controller.transition import Transition
from restow.controller.transitions import Phase
from restow.platform.interface import Listed


def take_over(transition: Transition, event: TookOver) -> None:
    assert transition.state.epoch is None, "a controller takes over once"
    transition.set(
        epoch=event.epoch, platform=event.platform, is_forced=event.is_forced, listed_s=transition.state.time_s
    )
    for seen in event.elsewhere:
        foreign.hear(transition, seen.consumer, seen.platform)
    transition.do(ListConsumers())


def compare(transition: Transition, consumers: tuple[Listed, ...]) -> None:
    present = {listed.consumer for listed in consumers}
    for consumer, view in tuple(transition.state.consumers.items()):
        # A consumer that was requested a moment ago may not be listed yet.
        if consumer not in present and (view.phase is not Phase.AWAITED or view.is_late):
            gone(transition, consumer)
    for listed in sorted(consumers, key=lambda listed: listed.consumer):
        if listed.consumer in transition.state.consumers:
            _learn_settings(transition, listed)
        elif listed.leaving:
            transition.add(listed.consumer, Phase.LOST, listed.settings)
            transition.note(listed.consumer, "leaving; what it holds is unknown until it is gone")
        else:
            transition.add(listed.consumer, Phase.ASKED, listed.settings)
            transition.query(listed.consumer)
    transition.set(listed=True)


def _learn_settings(transition: Transition, listed: Listed) -> None:
    """In other phases the list may be older than the controller's own request to create or restart."""
    view = transition.state.consumers[listed.consumer]
    if view.phase in (Phase.READY, Phase.ASKED) and view.settings != listed.settings:
        transition.change(listed.consumer, settings=listed.settings)


def is_done(state: State) -> bool:
    waiting = (Phase.ASKED, Phase.RESTARTED)
    unanswered = (v for v in state.consumers.values() if v.phase in waiting and not v.has_reported_holdings)
    return state.listed and next(unanswered, None) is None and not foreign.must_wait(state)
