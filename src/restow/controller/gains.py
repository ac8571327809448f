"""Judges scale-ups: one that raised the throughput by less than half of what was expected is not repeated.

Consumers that share cores, a disk or a broker's bandwidth slow each other down. Then another consumer raises nothing,
and the learned capacities of all of them would fall, which would open yet another one. So capacities do not fall
between a scale-up and its judgement, nor after a scale-up without gain. After a scale-up without gain no further
consumer is opened until the load, the settings or the consumers change. A scale-up is judged when its consumers have
worked for a while, and only if the group is still behind: a throughput that the producers limit says nothing.
"""

import math
from typing import Final

from restow.controller import spares
from restow.controller.load import Loads
from restow.controller.state import NoGain, ScaleUp, State
from restow.controller.transition import Transition
from restow.controller.transitions import Phase, Stage
from restow.model import ConsumerId
from restow.packing import PackingPlan
from restow.text import sized

NO_GAIN: Final = "scale-up without gain"
"""The flag."""
JUDGED_AFTER_S: Final = 60.0
"""Listened seconds after all consumers of a scale-up are ready: their first cycles are cold."""
ENOUGH: Final = 0.5
"""Of the expected gain."""
LEAST_EXPECTED: Final = 0.1
"""A scale-up of which less was expected, as a share of the throughput before, is not judged: noise would decide."""
LOAD_CHANGE: Final = 0.2
"""What counts as another load, as a share of the load of the scale-up without gain."""


def begin(transition: Transition, plan: PackingPlan) -> None:
    """A plan opens consumers. If an earlier scale-up is not judged yet, both are judged together."""
    state = transition.state
    before, after = len(plan.problem.current.consumers), len(plan.assignment.consumers)
    if state.rules.controller.spares:
        before, after = spares.working(plan.problem.current), spares.working(plan.assignment)
    if after <= before or not before or not state.rules.judges_evidence:
        return
    known = state.scale_up
    if known is None:
        known = ScaleUp(before, _throughput(state), after)
    transition.set(scale_up=ScaleUp(known.consumers, known.bytes_per_s, after))


def review(transition: Transition) -> None:
    """Judges a scale-up that is due, and ends the hold after one without gain when something has changed."""
    _review_hold(transition)
    state = transition.state
    if state.scale_up is None or state.stage is not Stage.SENTINEL:
        return
    usable = state.usable()
    if len(usable) < state.scale_up.wanted:
        transition.set(scale_up=None)  # its consumers did not come, or some are gone
    elif all(_is_settled(state, consumer) for consumer in usable) and not state.speeds_are_stale:
        _judge(transition, state.scale_up)


def may_fall(state: State) -> bool:
    """Whether learned capacities may fall."""
    return state.scale_up is None and state.no_fall_from is None


def most_consumers(state: State) -> int | None:
    """The most consumers of a plan after a scale-up without gain; None if there is no such limit."""
    return None if state.no_gain is None else state.no_gain.consumers


def _judge(transition: Transition, scale_up: ScaleUp) -> None:
    state = transition.state
    now, demand = _throughput(state), _demand(state)
    grown = scale_up.bytes_per_s * scale_up.wanted / scale_up.consumers
    expected = min(grown, demand)
    transition.set(scale_up=None)
    gain, wanted_gain = now - scale_up.bytes_per_s, expected - scale_up.bytes_per_s
    if not any(view.report is not None and view.report.saturated for view in state.consumers.values()):
        return  # the group is not behind
    if wanted_gain < LEAST_EXPECTED * scale_up.bytes_per_s or gain >= ENOUGH * wanted_gain:
        return
    enough = scale_up.bytes_per_s + ENOUGH * wanted_gain
    hold = NoGain(scale_up.wanted, _written(state), enough, _terms(state))
    transition.set(no_gain=hold, no_fall_from=scale_up.wanted)
    transition.flag(
        NO_GAIN,
        f"{scale_up.consumers} -> {scale_up.wanted} consumers raised the throughput from "
        f"{sized(scale_up.bytes_per_s)}/s to {sized(now)}/s, and {sized(expected)}/s was expected; they may share "
        "cores, a disk or a broker's bandwidth. No further consumer is opened until the load, the settings or the "
        "consumers change",
    )


def _review_hold(transition: Transition) -> None:
    state = transition.state
    hold = state.no_gain
    if hold is None and state.no_fall_from is None:
        return
    usable = len(state.usable()) - len(spares.of(state))
    if state.no_fall_from is not None and usable < state.no_fall_from:
        transition.set(no_fall_from=None)
    if hold is None:
        return
    if state.stage is Stage.SENTINEL and usable != hold.consumers:
        words = "the consumers have changed"
    elif hold.terms != _terms(state):
        words = "the settings have changed"
        transition.set(no_fall_from=None)
    elif not state.speeds_are_stale and abs(_written(state) - hold.bytes_per_s) > LOAD_CHANGE * hold.bytes_per_s:
        words = "the load has changed"
    elif _throughput(state) >= hold.enough_bytes_per_s:  # something else held the group up
        words = "the throughput has risen since"
        transition.set(no_fall_from=None)
    else:
        return
    transition.set(no_gain=None)
    transition.clear(NO_GAIN, words)


def _is_settled(state: State, consumer: ConsumerId) -> bool:
    view = state.consumers[consumer]
    is_old = state.listened_s - view.since_s >= JUDGED_AFTER_S
    return view.phase is Phase.READY and is_old and view.report is not None and not view.sent


def _throughput(state: State) -> float:
    """What all consumers store, in bytes/s."""
    return math.fsum(view.report.bytes_per_s for view in state.consumers.values() if view.report is not None)


def _demand(state: State) -> float:
    """What they would store if they could: what is written, and the backlog within the catch-up time."""
    each = Loads(state)
    return math.fsum(
        each.of(partition) / each.cost_of(partition.topic)
        for view in state.consumers.values()
        for partition in view.held
    )


def _written(state: State) -> float:
    return 0.0 if state.measured is None else state.measured.speeds.total


def _terms(state: State) -> str:
    """Changes with the settings on which throughput depends."""
    capacity = state.fixed_capacity_bytes_per_s
    limits = f"{state.least_consumers} to {state.most_consumers}"
    services = [f"{topic} {service and service.digest}" for topic, service in state.updates.items()]
    return f"{state.fingerprint} {capacity} {limits} {' '.join(services)}"
