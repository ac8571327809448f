"""Synchronize: who is there, and what does each hold? On every start, before anything is decided.

Every consumer that the platform lists is asked, and what it says before its answer is passed over. One that starts
while we ask tells the same with its ConsumerReady: it obeys no command from before. Later lists are compared with what
is known: a consumer that nobody knows (an older controller's last wish) is asked in the same way.
"""

from restow.controller.effects import ListConsumers
from restow.controller.patience import gone
from restow.controller.state import State
from restow.controller.transition import Turn
from restow.controller.transitions import Phase
from restow.platform.interface import Listed


def take_over(turn: Turn, epoch: int) -> None:
    assert turn.state.epoch is None, "a controller takes over once"
    turn.set(epoch=epoch, listed_s=turn.state.time_s)
    turn.do(ListConsumers())


def compare(turn: Turn, consumers: tuple[Listed, ...]) -> None:
    there = {listed.consumer for listed in consumers}
    for consumer, view in tuple(turn.state.consumers.items()):
        # One that we have just asked for may not be there yet.
        if consumer not in there and view.phase is not Phase.AWAITED:
            gone(turn, consumer)
    for listed in sorted(consumers, key=lambda listed: listed.consumer):
        if listed.consumer in turn.state.consumers:
            _learn_settings(turn, listed)
        elif listed.leaving:
            turn.appear(listed.consumer, Phase.LOST, listed.settings)
            turn.note(listed.consumer, "is leaving; what it holds is not known until it is gone")
        else:
            turn.appear(listed.consumer, Phase.ASKED, listed.settings)
            turn.ask(listed.consumer)
    turn.set(listed=True)


def _learn_settings(turn: Turn, listed: Listed) -> None:
    """One that was just created or restarted may have been listed before that: then our own wish is newer."""
    view = turn.state.consumers[listed.consumer]
    if view.phase in (Phase.READY, Phase.ASKED) and view.settings != listed.settings:
        turn.change(listed.consumer, settings=listed.settings)


def is_done(state: State) -> bool:
    waiting = (Phase.ASKED, Phase.RESTARTED)
    return state.listed and not any(not view.told and view.phase in waiting for view in state.consumers.values())
