"""Consumers of this group that run elsewhere: on another machine, in another directory, or in another cluster.

The platform can neither list nor end them, and their messages say nothing about this platform's consumers of the same
number. A controller that hears them as it synchronizes starts nothing until they have been silent for three report
intervals, or a person said `--take-over`: a second set would read beside the first. Later they only raise a flag.
Tables that refuse late writes stay right in any case.

Not foreign are consumers of this platform that it has not listed yet, processes that it took for dead, and senders of
older versions, which don't name their platform.
"""

from typing import Final

from restow.controller.state import ForeignConsumers, State
from restow.controller.transition import Transition
from restow.controller.transitions import Stage
from restow.model import ConsumerId, SortedMapping
from restow.protocol.messages.consumer_events import ConsumerReady, StateQueryResponse
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.messages.unions import FromConsumer
from restow.protocol.platform_identity import PlatformIdentity
from restow.text import MOST_NAMED, counted, listed

REPORTS_MISSED: Final = 3
"""After this many report intervals without a message a foreign consumer counts as ended."""
ELSEWHERE: Final = "consumers elsewhere"


def platform_of(state: State, message: FromConsumer) -> PlatformIdentity | None:
    """The platform of a foreign consumer's message; None if the message is one of our own platform."""
    if not isinstance(message, (ConsumerReport, ConsumerReady, StateQueryResponse)):
        return None  # an answer to a command: it names an incarnation, and foreign ones get no commands
    theirs, ours = message.platform, state.platform
    return theirs if theirs is not None and ours is not None and theirs.id != ours.id else None


def hear(transition: Transition, consumer: ConsumerId, platform: PlatformIdentity) -> None:
    before = transition.state.foreign.get(platform.id)
    consumers = frozenset([consumer]) if before is None else before.consumers | {consumer}
    heard = ForeignConsumers(platform.name, consumers, transition.state.listened_s)
    transition.set(foreign=SortedMapping({**transition.state.foreign, platform.id: heard}))
    _tell(transition)


def tick(transition: Transition) -> None:
    """Forgets platforms that have been silent for long enough."""
    state = transition.state
    if not state.foreign:
        return
    since_s = state.listened_s - silent_after_s(state)
    left = {key: each for key, each in state.foreign.items() if each.heard_s > since_s}
    if len(left) < len(state.foreign):
        transition.set(foreign=SortedMapping(left))
    if left:
        _tell(transition)
    else:
        transition.clear(ELSEWHERE, f"they have been silent for {silent_after_s(state):g} s")


def silent_after_s(state: State) -> float:
    return REPORTS_MISSED * state.rules.consumer.report_every_s


def must_wait(state: State) -> bool:
    """Whether a synchronizing controller must not start consumers yet."""
    return bool(state.foreign) and not state.is_forced


def _tell(transition: Transition) -> None:
    state = transition.state
    assert state.platform is not None
    where = "; ".join(f"{_numbers(each)} on {each.name}" for each in state.foreign.values())
    words = f"{where}, and this controller's platform is {state.platform.name}"
    if state.stage is Stage.SYNCHRONIZE and not state.is_forced:
        words += (
            f"; nothing is started beside them until they have been silent for {silent_after_s(state):g} s: end them "
            "there (`restow down`), or start this controller with --take-over"
        )
    else:
        words += "; end them there (`restow down`), or this controller"
    transition.flag(ELSEWHERE, f"this group has {words}")


def _numbers(foreign: ForeignConsumers) -> str:
    if len(foreign.consumers) > MOST_NAMED:
        return counted(len(foreign.consumers), "consumer")
    numbers = listed(tuple(sorted(foreign.consumers)))
    return f"consumer {numbers}" if len(foreign.consumers) == 1 else f"consumers {numbers}"
