"""The checkers of opening and closing. No consumer is closed for load that the others could not have carried for long.

It remembers the measurements that each controller has believed, and looks at each plan that leaves out a healthy
consumer with partitions: under that plan, no consumer that gets some of these may have been above the trigger at any
of them. Nor may a consumer have been opened or closed within the cool-downs. A plan that must close consumers, because
the group has more than it may have, or is parked, is excused.
"""

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from restow.controller import restarts, rise, roll
from restow.controller.effects import Effect, Moved, Noted
from restow.controller.peaks import BUCKETS
from restow.controller.state import State
from restow.controller.transitions import Cause, Phase
from restow.model import Assignment, ConsumerId, Speeds
from restow.platform.interface import CreateConsumer, DeleteConsumer
from restow.settings import Controller

if TYPE_CHECKING:
    from restow.simulator.controller import ControllerProcess

SLACK = 1 + 1e-6


class ClosedLate:
    def __init__(self, report: Callable[[int, str], None]) -> None:
        self._report = report
        self._samples: dict[ControllerProcess, deque[tuple[float, Speeds]]] = {}
        self._opened_s: dict[ControllerProcess, float] = {}
        self._closed_s: dict[ControllerProcess, float] = {}

    def stepped(self, controller: "ControllerProcess", before: State, effects: Sequence[Effect], after: State) -> None:
        rules, now_s = after.rules.controller, after.time_s
        if after.measured is not None and after.measured is not before.measured:
            samples = self._samples.setdefault(controller, deque())
            samples.append((now_s, after.measured.speeds))
            while samples and samples[0][0] < now_s - rules.close_after_s:
                samples.popleft()
        if not effects:
            return
        plans = [each for each in effects if isinstance(each, Moved) and each.cause is Cause.CHANGE]
        if plans and after.target is not None:
            self._planned(controller, before, after, after.target)
        failed = {each.subject for each in effects if isinstance(each, Noted) and each.kind == "failure"}
        for effect in effects:
            if isinstance(effect, CreateConsumer) and effect.consumer not in {*before.consumers, *_idle(after)}:
                self._opened_s[controller] = now_s
            if isinstance(effect, DeleteConsumer) and _is_healthy(before, effect.consumer, failed):
                self._closed_s[controller] = now_s

    def _planned(self, controller: "ControllerProcess", before: State, after: State, target: Assignment) -> None:
        closed = [
            consumer
            for consumer, view in after.consumers.items()
            if consumer not in target.consumers and view.phase is Phase.READY and view.held and not view.is_late
        ]
        most = after.most_consumers
        if not closed or after.is_parked or (most is not None and len(before.consumers) > most):
            return
        self._check_cool_downs(controller, closed[0], after)
        self._check_loads(controller, closed, after, target)

    def _check_cool_downs(self, controller: "ControllerProcess", consumer: ConsumerId, after: State) -> None:
        rules = after.rules.controller
        for what, times, rest_s in (
            ("opened", self._opened_s, rules.cool_down_after_opening_s),
            ("closed", self._closed_s, rules.cool_down_after_closing_s),
        ):
            passed_s = after.time_s - times.get(controller, -math.inf)
            if passed_s < rest_s:
                self._report(4, f"consumer {consumer} is to be closed {passed_s:.0f} s after one was {what}")

    def _check_loads(
        self, controller: "ControllerProcess", closed: Sequence[ConsumerId], after: State, target: Assignment
    ) -> None:
        rules, leaving = after.rules.controller, {each for number in closed for each in after.consumers[number].held}
        gaining = {number for partition, number in target.items() if partition in leaving}
        held = {number: partitions for number, partitions in target.by_consumer.items() if number in gaining}
        capacities, costs = (
            after.capacities(),
            {partition.topic: after.cost_of(partition.topic) for partition in target},
        )
        for then_s, speeds in self._samples.get(controller, ()):
            for number, partitions in held.items():
                load = math.fsum(speeds.get(each, 0.0) * costs[each.topic] for each in partitions)
                if load > capacities[number] * rules.trigger * SLACK and len(partitions) > 1:
                    ago = f"{after.time_s - then_s:.0f} s ago"
                    words = f"consumer {number} would have been at {load / capacities[number]:.0%} {ago}"
                    self._report(4, f"consumer {closed[0]} is to be closed, and {words}")
                    return


class OpenedAhead:
    """One consumer at a time is opened ahead of a predicted load, and only while the load rises; in a group with spares
    none but these."""

    def __init__(self, report: Callable[[int, str], None]) -> None:
        self._report = report
        self._totals: dict[ControllerProcess, deque[tuple[float, float]]] = {}
        """The consumed load at each measurement of the last half minute."""

    def stepped(self, controller: "ControllerProcess", before: State, effects: Sequence[Effect], after: State) -> None:
        if after.measured is not None and after.measured is not before.measured:
            totals = self._totals.setdefault(controller, deque())
            totals.append((after.time_s, _consumed(after, after.measured.speeds)))
            while totals[0][0] < after.time_s - rise.WATCHED_S - rise.SAMPLE_S:
                totals.popleft()
        if effects:
            self._check(self._totals.get(controller, ()), before, effects, after)

    def _check(
        self, totals: Sequence[tuple[float, float]], before: State, effects: Sequence[Effect], after: State
    ) -> None:
        target = after.target
        creates = (each.consumer for each in effects if isinstance(each, CreateConsumer))
        new = [consumer for consumer in creates if consumer not in before.consumers]
        spares = after.rules.controller.spares
        planned = 0 if target is None else len(target.consumers) - spares
        if target is None or not new or any(_needs_idle(state, planned) for state in (before, after)):
            return
        idle = [consumer for consumer in new if not target.by_consumer.get(consumer)]
        if len(idle) > max(1, spares):
            self._report(4, f"consumers {idle} are opened ahead at once")
        elif (
            not spares and idle and not any(total < totals[-1][1] for then_s, total in totals if then_s < after.time_s)
        ):
            self._report(4, f"consumer {idle[0]} is opened ahead, and the load has not risen")


def _consumed(state: State, speeds: Speeds) -> float:
    topics = {topic for topic in speeds.topics if state.service_of(topic) is not None}
    if topics == speeds.topics:
        return speeds.total
    return math.fsum(speed for each, speed in speeds.items() if each.topic in topics)


def _needs_idle(state: State, planned: int) -> bool:
    """Whether the group must have so many consumers, or wants one more to try settings or to restart another."""
    is_least = planned + state.set_aside <= state.least_consumers
    return is_least or state.roll_halted or roll.wants_canary(state) or restarts.wants_canary(state)


def _idle(state: State) -> set[ConsumerId]:
    """The idle consumers of the plan, in a group with spares: one of them is a spare. A plan that only opens spares is
    done at once."""
    if not state.rules.controller.spares:
        return set()
    if state.target is None:
        return {consumer for consumer, view in state.consumers.items() if not view.may_hold}
    return {consumer for consumer, partitions in state.target.by_consumer.items() if not partitions}


def closing_takes_s(rules: Controller) -> float:
    """For how long a consumer that is not needed stays, at most, until a plan without it is made."""
    remembered_s = rules.close_after_s * (1 + 1 / BUCKETS)
    return remembered_s + rules.cool_down_after_opening_s + rules.cool_down_after_closing_s


def _is_healthy(state: State, consumer: ConsumerId, failed: set[str]) -> bool:
    view = state.consumers.get(consumer)
    return view is not None and view.phase is Phase.READY and f"consumer {consumer}" not in failed
