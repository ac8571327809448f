"""When a consumer may be closed: hysteresis in time, cool-downs, and the budget of moves.

A pause of the producers must not cost a consumer that is needed again a moment later. So a consumer is closed only if
the others could have carried its partitions at every measurement of the last `close_after_s`, no consumer was opened or
closed lately, and the moves that it takes are within `most_moves_per_h`. Moves that are needed, because a consumer is
overloaded or a partition unread, are never postponed, but count towards that budget.

With `close_after_s = 0` the packer alone decides, by the speeds of this moment. `reassign.py` calls `tightened`.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from restow.controller.state import MovesBegun, State
from restow.controller.transition import Transition
from restow.model import Assignment, Speeds, TopicPartition
from restow.packing import PACKERS, Problem
from restow.text import counted

NO_TRIGGER: Final = 1e9
"""No load is above it: nothing is relieved."""
HOUR_S: Final = 3600.0
MINUTE_S: Final = 60.0
BUDGET: Final = "moves postponed"
"""The flag that is raised while a consumer could be closed and the budget of moves is spent."""


@dataclass(frozen=True, slots=True)
class Tightened:
    assignment: Assignment
    """The assignment with fewer consumers, or the one before."""
    postponed: str | None = None
    """Why a consumer that could be closed is not; None if nothing is postponed."""


def is_free(state: State) -> bool:
    """Whether the packer alone decides."""
    rules = state.rules.controller
    return rules.close_after_s == 0 and _cool_down_s(state) == 0 and rules.most_moves_per_h is None


def waits_for(state: State) -> str | None:
    """Why no consumer is closed at present, in words; None if the speeds alone decide."""
    rules = state.rules.controller
    if (left_s := _cool_down_s(state)) > 0:
        return f"no consumer is closed for another {left_s:.0f} s: one was {_last_change(state)} {_ago(state)}"
    since_s = state.peaks.since_s
    known_s = 0.0 if since_s is None else state.time_s - since_s
    if known_s < rules.close_after_s:
        known = f"speeds are known for {known_s:.0f} s"
        return f"no consumer is closed yet: {known}, and close_after_s is {rules.close_after_s:g}"
    return None


def may_close(state: State) -> bool:
    """Whether the speeds of the last minutes, and nothing else, decide if a consumer is closed now."""
    if state.is_scaling_frozen or state.only_recovers or state.rolling or state.awaited():
        return False
    return waits_for(state) is None


def with_present_consumers(problem: Problem, planned: Assignment) -> Assignment:
    """Replaces new consumers of the plan by present ones that the plan leaves out. The packer is indifferent between
    the two if the partitions that move have no load. A present consumer gets what the new one would have got, and keeps
    its own partitions as far as they fit."""
    there = problem.current.consumers
    new = [consumer for consumer in planned.consumers if consumer not in there]
    names = dict(zip(new, (consumer for consumer in there if consumer not in planned.consumers), strict=False))
    if not names:
        return planned
    owners = {partition: names.get(consumer, consumer) for partition, consumer in planned.items()}
    loads = dict(Assignment(owners, idle=there).loads(problem.speeds))
    for partition, home in problem.current.items():
        speed = problem.speeds.get(partition)
        if home not in names.values() or speed is None or owners[partition] == home or partition in problem.pins:
            continue
        if loads[home] + speed <= problem.capacities[home] * problem.margins.fill_to:
            owners[partition] = home
            loads[home] += speed
    return Assignment(owners, idle=(names.get(consumer, consumer) for consumer in planned.consumers))


def tightened(state: State, problem: Problem, kept: Assignment) -> Tightened:
    """Closes consumers of `kept`, a plan that closes none, if the speeds of the last minutes allow it."""
    if not may_close(state):
        return Tightened(kept)
    for look in _looks(state, problem):
        found = _closed(state, problem, kept, look)
        if found is not None:
            return found
    return Tightened(kept)


@dataclass(frozen=True, slots=True)
class _Look:
    """Speeds to pack by, and the past loads that the packed group must have been able to carry."""

    speeds: Speeds
    loads: tuple[Mapping[TopicPartition, float], ...]


def _looks(state: State, problem: Problem) -> Iterator[_Look]:
    """First packs by typical speeds, and checks the result against every load of the last minutes. Then packs by the
    highest speed of each partition, which covers all of those loads."""
    costs = {topic: state.cost_of(topic) for topic in {each.topic for each in problem.speeds}}
    if state.rules.checks_each_load and state.peaks.are_whole:
        buckets = tuple(_weighted(bucket.highest, costs) for bucket in state.peaks.buckets)
        typical = _weighted(state.peaks.typical(), costs)
        yield _Look(
            Speeds({each: typical.get(each, now) for each, now in problem.speeds.items()}), (problem.speeds, *buckets)
        )
    highest = _weighted(state.peaks.highest(), costs)
    speeds = Speeds({each: max(now, highest.get(each, 0.0)) for each, now in problem.speeds.items()})
    yield _Look(speeds, (speeds,))


def _weighted(speeds: Mapping[TopicPartition, float], costs: Mapping[str, float]) -> Mapping[TopicPartition, float]:
    """As bytes of mean cost, without topics that are not consumed."""
    return {each: speed * costs[each.topic] for each, speed in speeds.items() if each.topic in costs}


def _closed(state: State, problem: Problem, kept: Assignment, look: _Look) -> Tightened | None:
    """Returns None if no consumer can be closed by this look."""
    margins = replace(problem.margins, trigger=NO_TRIGGER)
    looked = replace(problem, speeds=look.speeds, current=kept, margins=margins, previous=None)
    if not _could_be_emptied(looked):
        return None
    pack = PACKERS[state.rules.packer]
    fewer = pack(looked).assignment
    if len(fewer.consumers) >= len(kept.consumers) or not _would_have_held(problem, look.loads, fewer):
        return None
    if _is_within_budget(state, problem, fewer):
        return Tightened(fewer)
    one_fewer = pack(replace(looked, least_consumers=len(kept.consumers) - 1)).assignment
    is_fewer = len(one_fewer.consumers) < len(kept.consumers) and _would_have_held(problem, look.loads, one_fewer)
    if is_fewer and _is_within_budget(state, problem, one_fewer):
        return Tightened(one_fewer)
    return Tightened(kept, _postponed(state, len(problem.current.moves_to(one_fewer))))


def count_moves(transition: Transition, moves: int) -> None:
    """Manage has commanded the stops of this many moves."""
    state = transition.state
    if not moves or state.rules.controller.most_moves_per_h is None:
        return
    minute_s = math.floor(state.time_s / MINUTE_S) * MINUTE_S
    kept = tuple(each for each in state.moves if each.minute_s > state.time_s - HOUR_S)
    if kept and kept[-1].minute_s == minute_s:
        kept = (*kept[:-1], MovesBegun(minute_s, kept[-1].count + moves))
    else:
        kept = (*kept, MovesBegun(minute_s, moves))
    transition.set(moves=kept)


def moves_in_last_hour(state: State) -> int:
    return sum(each.count for each in state.moves if each.minute_s > state.time_s - HOUR_S)


def _is_within_budget(state: State, problem: Problem, following: Assignment) -> bool:
    most = state.rules.controller.most_moves_per_h
    return most is None or moves_in_last_hour(state) + len(problem.current.moves_to(following)) <= most


def _postponed(state: State, moves: int) -> str:
    most, made = state.rules.controller.most_moves_per_h, moves_in_last_hour(state)
    words = f"a consumer could be closed by {counted(moves, 'move')}; {made} of {most} moves per hour are made"
    return f"{words}, and closing one takes more than that: raise most_moves_per_h" if moves > (most or 0) else words


def _could_be_emptied(problem: Problem) -> bool:
    """Whether some consumer holds nothing, or no more than all others have room for: otherwise no plan closes one."""
    loads, fill_to = problem.current.loads(problem.speeds), problem.margins.fill_to
    held = problem.current.by_consumer
    room = {consumer: max(0.0, problem.capacities[consumer] * fill_to - load) for consumer, load in loads.items()}
    total = math.fsum(room.values())
    return any(not held[consumer] or load <= (total - room[consumer]) * (1 + 1e-9) for consumer, load in loads.items())


def _would_have_held(problem: Problem, loads: Iterable[Mapping[TopicPartition, float]], fewer: Assignment) -> bool:
    """Whether no consumer that gets partitions of a closed one would have been above the trigger. What else it gets,
    because another consumer is overloaded now, was placed by the speeds of now."""
    staying, current = set(fewer.consumers), problem.current
    gaining = {consumer for each, consumer in fewer.items() if current.get(each, consumer) not in staying}
    held = [(fewer.by_consumer[number], problem.capacities[number] * problem.margins.trigger) for number in gaining]
    return all(
        math.fsum(speeds.get(each, 0.0) for each in partitions) <= limit * (1 + 1e-9)
        for speeds in loads
        for partitions, limit in held
    )


def _cool_down_s(state: State) -> float:
    """The seconds until the cool-downs are over."""
    rules = state.rules.controller
    ends = (
        (state.opened_s, rules.cool_down_after_opening_s),
        (state.closed_s, rules.cool_down_after_closing_s),
    )
    return max(0.0, *(since_s + rest_s - state.time_s for since_s, rest_s in ends if since_s is not None), 0.0)


def _last_change(state: State) -> str:
    opened_s, closed_s = (
        math.inf if each is None else state.time_s - each for each in (state.opened_s, state.closed_s)
    )
    rules = state.rules.controller
    is_opening = rules.cool_down_after_opening_s - opened_s >= rules.cool_down_after_closing_s - closed_s
    return "opened" if is_opening else "closed"


def _ago(state: State) -> str:
    since_s = state.opened_s if _last_change(state) == "opened" else state.closed_s
    return f"{state.time_s - (since_s or 0.0):.0f} s ago"
