"""What the controller waits for, in words: an operator who sees nothing happen looks here first."""

from collections.abc import Iterator, Sequence
from typing import Final

from restow.controller import restarts
from restow.controller.holds import pause_words
from restow.controller.state import State, View
from restow.controller.transitions import Phase, Stage
from restow.model import ConsumerId
from restow.text import counted, listed, said_by

MOST_WAITS: Final = 20

PHASES: Final = {
    Phase.ASKED: "to report what it holds",
    Phase.RESTARTED: "to be ready again after its restart",
    Phase.CRASHED: "to be back after its crash",
    Phase.ROLLING: "to be ready with its new settings",
    Phase.LEAVING: "to be deleted by the platform",
    Phase.LOST: "to be gone: it was given up and may still write",
}


def waits(state: State) -> tuple[str, ...]:
    """The most important first; of a long list the first ones and how many more there are."""
    found = [*_of_the_group(state), *_of_the_consumers(state), *_of_refused(state)]
    left = len(found) - MOST_WAITS
    return (*found[:MOST_WAITS], *([f"and {left} more"] if left > 0 else []))


def _of_the_group(state: State) -> Iterator[str]:
    if (paused := state.desired.pause) is not None:
        yield f"the end of the pause: paused {pause_words(paused)}"
    elif state.recommended is not None:
        yield "`restow recommend off`: the last decision is recommended, and not carried out"
    if state.stage is Stage.SYNCHRONIZE and not state.listed:
        yield "the platform to list its consumers"
    if state.measured is None:
        yield "the first speeds from the monitor"
    elif state.speeds_are_stale:
        yield f"new speeds from the monitor: the last are {_seconds(state.time_s - state.measured_s)} old"
    for consumer in restarts.asked(state):
        record = state.desired.restarts[consumer]
        who = said_by(record.by, record.reason)
        yield f"the moment to restart consumer {consumer} on request{who}; before it: {restarts.waits_for(state)}"
    for partition in state.desired.unjudged:
        yield f"speeds, to judge whether {partition} can move to consumer {state.desired.pins[partition].consumer}"
    if not state.may_create:
        pause = _seconds(state.creation.until_s - state.time_s)
        yield f"{pause} to pass before a consumer is created again: the last one did not become ready"


def _of_the_consumers(state: State) -> Iterator[str]:
    for consumer, view in state.consumers.items():
        for_s = state.listened_s - view.since_s
        if view.phase is Phase.AWAITED:
            within_s = state.rules.controller.ready_within_s
            yield f"consumer {consumer} to become ready (for {_seconds(for_s)}, at most {_seconds(within_s)})"
        elif view.phase in PHASES:
            is_asked = view.phase is Phase.ROLLING and view.is_asked
            yield f"consumer {consumer} {PHASES[Phase.RESTARTED if is_asked else view.phase]} (for {_seconds(for_s)})"
        yield from _of_its_commands(state, consumer, view)


def _of_its_commands(state: State, consumer: ConsumerId, view: View) -> Iterator[str]:
    for sent in view.sent:
        act = "start" if sent.starts else "stop"
        again = f", sent {counted(sent.tries, 'time')}" if sent.tries > 1 else ""
        for_s = state.listened_s - sent.since_s
        yield f"consumer {consumer} to {act} {listed(sorted(sent.left))} (for {_seconds(for_s)}{again})"


def _of_refused(state: State) -> Sequence[str]:
    resting = [partition for partition in state.refused if state.is_resting(partition)]
    if not resting:
        return ()
    next_s = min(state.refused[partition].until_s for partition in resting) - state.time_s
    return (f"the next attempt to start {listed(resting)}, refused before, in {_seconds(next_s)}",)


def _seconds(seconds: float) -> str:
    return f"{max(0.0, seconds):.0f} s"
