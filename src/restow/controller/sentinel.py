"""Sentinel: watches speeds, loads and holdings, and finds the cause for a new plan.

Stale, missing or impossible speeds raise a flag; while they are stale nothing is scaled. While the group is paused,
only misplaced partitions are a cause.
"""

from dataclasses import replace
from typing import Final

from restow.controller import parking, pins, restarts, rise, roll, spares, starts, takeover
from restow.controller.events import ClockTicked, Event, SpeedsMeasured
from restow.controller.load import overloaded
from restow.controller.reconcile import is_outdated
from restow.controller.state import State, View
from restow.controller.transition import Transition
from restow.controller.transitions import Cause, Phase
from restow.model import Speeds, TopicPartition
from restow.text import listed

CHECK_EVERY_S: Final = 5.0
"""How often the causes are checked if no measurement arrives; each measurement checks them too."""
STALE, IMPOSSIBLE, MISSING = "stale speeds", "impossible speeds", "missing speeds"


def measure(transition: Transition, event: SpeedsMeasured) -> None:
    state, before = transition.state, transition.state.measured
    fastest = state.rules.controller.fastest_partition_bytes_per_s
    if max(event.speeds.values(), default=0.0) > fastest:
        too_fast = tuple(partition for partition, speed in event.speeds.items() if speed > fastest)
        transition.flag(IMPOSSIBLE, f"{listed(too_fast)} can't be as fast as measured; the measurement is ignored")
        return
    if before is not None and event.time <= before.time and not state.speeds_are_stale:
        return  # Out of order. If nothing newer arrives it is taken: the monitor's clock may have been set back.
    transition.clear(IMPOSSIBLE, "speeds are plausible again")
    missing = _missing(state, event)
    if missing:
        transition.flag(MISSING, f"{listed(missing)} not measured; the last known speed counts, or 0")
    else:
        transition.clear(MISSING, "every partition is measured")
    if not event.speeds:
        return
    if before is not None and missing:
        event = _completed(event, before, missing)
    is_fine, close_after_s = state.rules.checks_each_load, state.rules.controller.close_after_s
    peaks = state.peaks.measured(event.speeds, state.time_s, close_after_s, is_fine=is_fine)
    transition.set(measured=event, measured_s=state.time_s, peaks=peaks)
    rise.watch(transition)
    parking.watch(transition)
    transition.learn(event.speeds)
    transition.clear(STALE, "speeds arrive again")


def check_staleness(transition: Transition) -> None:
    """Runs in every stage."""
    after_s = transition.state.rules.controller.stale_after_s
    if transition.state.now_s is not None and transition.state.now_s - transition.state.measured_s > after_s:
        parking.wake(transition, "whether records arrive is not known")
        transition.flag(STALE, f"no speeds for more than {after_s:g} s; nothing is scaled until they arrive")


def cause_to_replan(transition: Transition, event: Event) -> Cause | None:
    """Checked with each measurement, and every `CHECK_EVERY_S` without one."""
    state = transition.state
    is_time = isinstance(event, ClockTicked) and state.time_s - state.checked_s >= CHECK_EVERY_S
    if not is_time and not isinstance(event, SpeedsMeasured):
        return None
    transition.set(checked_s=state.time_s)
    roll.flag_progress(transition)
    came_late = starts.admit_late(transition)
    state = transition.state
    if not state.can_have_consumers:
        return None  # a plan needs at least one
    cause = _misplaced(state) or (Cause.PINNED if pins.are_misplaced(state) else None)
    if cause is None and roll.comes_first(state):
        return _outdated(state)
    cause = cause or (Cause.RESTART if restarts.is_due(state) else None)
    cause = cause or _overload(state) or _periodic(state) or _outdated(state)
    if cause is None and _may_scale(state) and not state.rolling and parking.is_due(state):
        parking.park(transition)
        return Cause.QUIET
    if cause is None and _may_scale(state) and rise.is_ahead(state):
        transition.set(predicted_s=state.time_s)
        return Cause.RISE
    return cause or (Cause.PERIODIC if came_late and _may_scale(state) else None)


def _may_scale(state: State) -> bool:
    """Whether a plan for load is made, if only to be recommended."""
    return not state.is_scaling_frozen and not state.is_paused and not takeover.is_recovering(state)


def _misplaced(state: State) -> Cause | None:
    """Works on sets of partitions, because it runs with every measurement and a group may have many."""
    held: set[TopicPartition] = set()
    left: set[TopicPartition] = set()
    is_unwanted = False
    for view in state.consumers.values():
        may_hold = view.may_hold
        if view.phase is Phase.ROLLING:
            left |= may_hold | view.held_before_roll
            continue
        if view.phase in (Phase.LEAVING, Phase.LOST, Phase.CRASHED):
            left.update(each for each in may_hold if not state.is_given_up(view, each))
            continue
        if not held.isdisjoint(may_hold):
            return Cause.DISAGREEMENT
        held |= may_hold
        is_unwanted = is_unwanted or _is_unwanted(state, view, {partition.topic for partition in may_hold})
    if is_unwanted:
        return Cause.TOPICS
    unknown_phases = state.unknown_phases
    if state.is_parked:
        return None
    waiting = state.refused.keys() if state.refused and roll.comes_first(state) else ()  # for new settings or code
    for partition in (state.known - held - left - state.suspects_away()).difference(waiting):
        if (
            state.service_of(partition.topic) is not None
            and not state.is_resting(partition)
            and not state.must_wait(partition, unknown_phases)
        ):
            return Cause.UNASSIGNED
    return None


def _is_unwanted(state: State, view: View, topics: set[str]) -> bool:
    """Whether the consumer reads a topic that the group does not consume, or reads it by an old definition."""
    return any(state.service_of(topic) is None or is_outdated(state, view, topic) for topic in topics)


def _overload(state: State) -> Cause | None:
    if not _may_scale(state):
        return None
    movable = (c for c in overloaded(state) if state.consumers[c].phase is not Phase.ROLLING)
    return Cause.OVERLOAD if any(consumer not in state.tolerated for consumer in movable) else None


def _periodic(state: State) -> Cause | None:
    """Not during a roll: scaling down can wait for the plan that follows it, which has every consumer."""
    is_due = state.time_s - state.replanned_s >= state.rules.controller.look_every_s or spares.are_missing(state)
    return Cause.PERIODIC if is_due and not state.rolling and _may_scale(state) else None


def _outdated(state: State) -> Cause | None:
    if roll.waits(state) or state.is_scaling_frozen:
        return None
    return Cause.OUTDATED if roll.is_due(state) else None


def _missing(state: State, event: SpeedsMeasured) -> tuple[TopicPartition, ...]:
    """Known partitions of consumed topics without a speed."""
    if state.known <= event.speeds.keys():
        return ()
    absent = state.known - event.speeds.keys()
    return tuple(sorted(partition for partition in absent if state.service_of(partition.topic) is not None))


def _completed(event: SpeedsMeasured, before: SpeedsMeasured, missing: tuple[TopicPartition, ...]) -> SpeedsMeasured:
    known = {partition: before.speeds[partition] for partition in missing if partition in before.speeds}
    return replace(event, speeds=Speeds({**event.speeds, **known}))
