"""The controller's machine: step(state, event) -> (state, effects). Pure: time arrives as an event.

The process (restow.roles.controller), the simulator and `restow replay` call it with the same events and get the same
effects.
"""

from typing import assert_never

from restow.controller import (
    capacity,
    claims,
    fastest,
    foreign,
    gains,
    holds,
    manage,
    pins,
    platform_events,
    poison,
    reassign,
    restarts,
    rise,
    roll,
    schedules,
    sentinel,
    services,
    stuck,
    synchronize,
    takeover,
    timeouts,
    urgency,
)
from restow.controller.consumer_events import receive
from restow.controller.effects import Effect
from restow.controller.events import (
    ClockTicked,
    CodeChanged,
    ConsumersListed,
    Event,
    LearningRecalled,
    PlatformRefused,
    Received,
    RetentionSeen,
    SchedulePlanned,
    ServiceChanged,
    SpeedsMeasured,
    TookOver,
)
from restow.controller.state import Rules, State
from restow.controller.transition import Transition
from restow.controller.transitions import Cause, Stage
from restow.platform.interface import ConsumerCrashed, ConsumerFailing, ConsumerGone, ConsumerUp


def begin(rules: Rules) -> State:
    return State(rules)


def step(state: State, event: Event) -> tuple[State, tuple[Effect, ...]]:
    transition = Transition(state)
    match event:
        case ClockTicked():
            timeouts.tick(transition, event)
            holds.tick(transition)
            schedules.tick(transition)
            foreign.tick(transition)
            sentinel.check_staleness(transition)
            gains.review(transition)
        case TookOver():
            synchronize.take_over(transition, event)
        case SpeedsMeasured():
            sentinel.measure(transition, event)
            stuck.review(transition)
            fastest.review(transition)
            poison.review(transition)
        case Received(heard):
            for record in heard:
                receive(transition, record.offset, record.message)
        case ServiceChanged(update, env_digest, offset):
            services.change(transition, update, env_digest, offset)
        case CodeChanged(code):
            roll.change_code(transition, code)
        case LearningRecalled(capacities, costs):
            transition.set(learned=capacity.recall(transition.state.learned, capacities, costs))
        case SchedulePlanned():
            schedules.plan(transition, event)
        case RetentionSeen():
            urgency.learn(transition, event)
        case ConsumersListed(consumers):
            synchronize.compare(transition, consumers)
        case ConsumerUp(consumer):
            platform_events.up(transition, consumer)
        case ConsumerCrashed(consumer, reason):
            platform_events.crashed(transition, consumer, reason)
        case ConsumerFailing(consumer, reason):
            platform_events.failing(transition, consumer, reason)
        case ConsumerGone(consumer):
            platform_events.gone(transition, consumer)
        case PlatformRefused(consumer, action, reason):
            platform_events.refused(transition, consumer, action, reason)
        case _:
            assert_never(event)
    _proceed(transition, event)
    return transition.state, tuple(transition.effects)


def _proceed(transition: Transition, event: Event) -> None:
    """Does what the present stage requires after an event."""
    may_have_claims = isinstance(event, Received) or transition.state.stage is Stage.SYNCHRONIZE
    if transition.state.stage is Stage.SYNCHRONIZE and synchronize.is_done(transition.state):
        transition.enter(Stage.SENTINEL, Cause.ALL_KNOWN)
        holds.announce(transition)
        if claims.are_open(transition):
            transition.replan_cause = transition.replan_cause or Cause.CLAIM
    if transition.state.stage is not Stage.SYNCHRONIZE:
        pins.review(transition)
    if transition.state.stage is Stage.SENTINEL:
        cause = transition.replan_cause or sentinel.cause_to_replan(transition, event)
        if cause is Cause.OUTDATED and roll.comes_first(transition.state):
            roll.begin(transition)
        elif cause is not None:
            transition.enter(Stage.REASSIGN, cause)
            reassign.reassign(transition)
            if transition.state.stage is Stage.SENTINEL:  # the plan changes nothing else, and closes no consumer
                if cause is Cause.OUTDATED:
                    roll.begin(transition)
                elif cause is Cause.RESTART:
                    restarts.begin(transition)
    elif transition.state.stage is Stage.MANAGE:
        cause = transition.replan_cause
        if cause is None and isinstance(event, SpeedsMeasured) and rise.is_overtaken(transition.state):
            cause = None if takeover.is_recovering(transition.state) else Cause.OVERLOAD
        if cause is not None:
            transition.enter(Stage.REASSIGN, cause)
            reassign.reassign(transition)
    if transition.state.stage is Stage.MANAGE and manage.is_news(transition.before, transition.state):
        manage.manage(transition)
    if may_have_claims and transition.state.stage is not Stage.SYNCHRONIZE:
        claims.settle(transition)
