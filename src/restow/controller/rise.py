"""Reacts to a rising load: opens further consumers while others start, and one ahead of the need.

While new consumers start, a load that keeps rising causes another plan at once (`is_overtaken`): no partition has moved
for the last plan yet. Speeds are also predicted ahead by the time that a start takes, as this controller has measured
it. If the group would then need more consumers than it has, one idle consumer is opened (`with_one_more`). It is ready
when the overload comes. A wrong prediction costs no move, and one consumer for one cool-down: while one is idle or
starting, no other is opened ahead.
"""

import math
from dataclasses import replace
from itertools import count, pairwise
from typing import Final

from restow.controller.load import SLACK, Loads, overloaded
from restow.controller.state import State, TotalSpeed
from restow.controller.transition import Transition
from restow.model import FIRST_CONSUMER, Assignment, ConsumerId, Speeds
from restow.packing import PACKERS, Problem
from restow.text import sized

WATCHED_S: Final = 30.0
"""The rise is that of the last half minute. In a shorter time noise looks like one; in a longer one it comes late."""
THIRDS: Final = 3
NEAR_S: Final = 0.01
"""Sums of floats differ by less."""
SAMPLE_S: Final = 5.0
LEAST_S: Final = 15.0
"""A rise that has been seen for less is none."""
STARTS: Final = 5
"""How many starts are remembered. Their median is the time that a start takes."""


def watch(transition: Transition) -> None:
    """A measurement was believed: remembers the total speed of the consumed partitions."""
    state = transition.state
    if not state.rules.controller.predict_at_most or state.measured is None:
        return
    if state.totals and state.time_s - state.totals[-1].time_s < SAMPLE_S:
        return
    speeds = state.measured.speeds
    wanted = {topic for topic in speeds.topics if state.service_of(topic) is not None}
    total = speeds.total
    if wanted != speeds.topics:
        total = math.fsum(speed for partition, speed in speeds.items() if partition.topic in wanted)
    kept = (each for each in state.totals if each.time_s >= state.time_s - WATCHED_S)
    transition.set(totals=(*kept, TotalSpeed(state.time_s, total)))


def started(transition: Transition, took_s: float) -> None:
    """A new consumer is ready."""
    transition.set(start_times_s=(*transition.state.start_times_s, took_s)[-STARTS:])


def start_s(state: State) -> float | None:
    """The time that a start takes; None before the first."""
    ordered = sorted(state.start_times_s)
    return ordered[len(ordered) // 2] if ordered else None


def growth_bytes_per_s2(state: State) -> float:
    """By how much the total speed rises each second: the least of the rises in each third of the watched time. So a
    step, after which the load stays, is no rise that goes on."""
    totals = state.totals
    span_s = totals[-1].time_s - totals[0].time_s if totals else 0.0
    if span_s < LEAST_S:
        return 0.0
    wanted_s = (totals[0].time_s + span_s * third / THIRDS for third in range(THIRDS + 1))
    marks = [next(each for each in reversed(totals) if each.time_s <= time_s + NEAR_S) for time_s in wanted_s]
    pairs = [(one, other) for one, other in pairwise(marks) if other.time_s > one.time_s]
    slopes = ((other.bytes_per_s - one.bytes_per_s) / (other.time_s - one.time_s) for one, other in pairs)
    return max(0.0, min(slopes))


def predicted_factor(state: State) -> float:
    """The total speed after the time of a start, as a multiple of the present one."""
    takes_s, at_most = start_s(state), state.rules.controller.predict_at_most
    total = state.totals[-1].bytes_per_s if state.totals else 0.0
    if takes_s is None or not total:
        return 1.0
    return 1 + min(at_most, growth_bytes_per_s2(state) * takes_s / total)


def is_ahead(state: State) -> bool:
    """Sentinel: whether the predicted load would overload a consumer, so that a plan should be made."""
    if not may_predict(state) or state.time_s - state.predicted_s < max(SAMPLE_S, start_s(state) or 0.0):
        return False
    factor = predicted_factor(state)
    return factor > 1 and any(consumer not in state.tolerated for consumer in overloaded(state, factor))


def is_overtaken(state: State) -> bool:
    """Manage: whether the load has outgrown a plan whose new consumers are not ready yet."""
    if state.target is None or not state.awaited() or state.is_scaling_frozen or state.only_recovers:
        return False
    each, limit = Loads(state), state.rules.controller.trigger * SLACK
    return any(
        each.total(partitions) > each.capacities[consumer] * limit
        for consumer, partitions in state.target.by_consumer.items()
        if consumer not in state.tolerated and len(partitions) > 1
    )


def may_predict(state: State) -> bool:
    """Not after a closing, while another consumer starts, nor without a cool-down that limits what an error costs."""
    rules = state.rules.controller
    if not rules.predict_at_most or not rules.cool_down_after_opening_s or not state.may_create:
        return False
    if state.is_scaling_frozen or state.only_recovers or state.rolling or state.awaited():
        return False
    return state.closed_s is None or state.time_s - state.closed_s >= rules.cool_down_after_closing_s


def with_one_more(state: State, problem: Problem, planned: Assignment) -> Assignment:
    """The plan, with an idle consumer more if the predicted speeds need one."""
    factor, most = predicted_factor(state), problem.most_consumers
    there = len(planned.consumers)
    if not may_predict(state) or factor <= 1 or (most is not None and there >= most):
        return planned
    if state.rules.controller.spares or any(not partitions for partitions in planned.by_consumer.values()):
        return planned
    speeds = Speeds({partition: speed * factor for partition, speed in problem.speeds.items()})
    limit = problem.margins.trigger * SLACK
    if all(load <= problem.capacities[consumer] * limit for consumer, load in planned.loads(speeds).items()):
        return planned
    ahead = replace(problem, speeds=speeds, current=planned, least_consumers=there)
    if len(PACKERS[state.rules.packer](ahead).assignment.consumers) <= there:
        return planned
    new = next(ConsumerId(number) for number in count(FIRST_CONSUMER) if number not in planned.consumers)
    return Assignment(planned, idle=(*planned.consumers, new))


def words(state: State) -> str:
    growth, takes_s = sized(growth_bytes_per_s2(state)), start_s(state) or 0.0
    return f"the load rises by {growth}/s each second, and a start takes {takes_s:.0f} s"
