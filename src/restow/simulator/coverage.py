"""Coverage of a run: which events, effects, transitions, phases, faults, refusals and failures have occurred. The tests
assert that their seeds together meet all of them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from restow.consumer.effects import Effect as ConsumerEffect
from restow.consumer.events import AssignmentChanged, CycleEnded
from restow.consumer.events import Event as ConsumerEvent
from restow.controller.effects import Effect as ControllerEffect
from restow.controller.effects import Moved, Noted
from restow.controller.events import Event as ControllerEvent
from restow.controller.events import Received, ServiceChanged
from restow.controller.holds import PAUSED, RECOMMEND
from restow.controller.poison import SUSPECTS
from restow.controller.schedules import SCHEDULE
from restow.controller.state import State, View
from restow.controller.stuck import STUCK
from restow.controller.transitions import PHASES, Cause, Phase, Stage
from restow.model import ConsumerId
from restow.protocol.messages.consumer_events import ConsumerReady


def _only(consumers: Mapping[ConsumerId, View], numbers: Iterable[ConsumerId]) -> Mapping[ConsumerId, View]:
    return {consumer: consumers[consumer] for consumer in numbers if consumer in consumers}


@dataclass
class Coverage:
    controller_events: set[type] = field(default_factory=set)
    controller_effects: set[type] = field(default_factory=set)
    consumer_events: set[type] = field(default_factory=set)
    consumer_effects: set[type] = field(default_factory=set)
    transitions: set[tuple[Stage, Stage, Cause]] = field(default_factory=set)
    phases: set[tuple[Phase | None, Phase | None]] = field(default_factory=set)
    faults: dict[str, int] = field(default_factory=dict)
    refusals: set[str] = field(default_factory=set)
    nonsense: set[str] = field(default_factory=set)
    measurements: set[str] = field(default_factory=set)
    """How measurements were sent: in parts, and incomplete because the monitor died."""
    failing_topics: set[str] = field(default_factory=set)
    """Whether a topic was flagged as failing, and cleared."""
    stuck_partitions: set[str] = field(default_factory=set)
    """Whether partitions were flagged as stuck, and cleared."""
    asks: dict[str, int] = field(default_factory=dict)
    """What people asked for."""
    answers: set[tuple[str, bool]] = field(default_factory=set)
    """The kinds of their records that were taken, and that were refused."""
    claims: set[str] = field(default_factory=set)
    """What became of claims: granted, denied, or resumed because no controller answered."""
    suspects: set[str] = field(default_factory=set)
    """Whether partitions were flagged as suspects, and cleared."""
    holds: set[tuple[str, str]] = field(default_factory=set)
    """Whether a pause, recommend only, and a window of a schedule began and ended."""

    def controller(
        self, before: State, event: ControllerEvent, after: State, effects: tuple[ControllerEffect, ...]
    ) -> None:
        self.controller_events.add(type(event))
        for effect in effects:
            self.controller_effects.add(type(effect))
            if isinstance(effect, Moved):
                self.transitions.add((effect.source, effect.target, effect.cause))
            elif isinstance(effect, Noted):
                self._noted(effect)
        if isinstance(event, Received):
            self._claims(event, after)
        if isinstance(event, ServiceChanged) and after.desired.answers:
            self.answers.add((type(event.update).__name__, after.desired.answers[-1].taken))
        if before.consumers is after.consumers:
            return
        if isinstance(event, Received) and not effects:  # then no other consumer can have changed
            senders = {record.message.consumer for record in event.heard}
            self._phases(_only(before.consumers, senders), _only(after.consumers, senders))
        else:
            self._phases(before.consumers, after.consumers)

    def _noted(self, effect: Noted) -> None:
        if effect.subject.startswith("failing "):
            self.failing_topics.add(effect.kind)
        elif effect.subject == SUSPECTS:
            self.suspects.add(effect.kind)
        elif effect.subject == STUCK:
            self.stuck_partitions.add(effect.kind)
        elif effect.subject in (PAUSED, RECOMMEND, SCHEDULE):
            self.holds.add((effect.subject, effect.kind))

    def _claims(self, event: Received, after: State) -> None:
        """What a step answered to claims that came with it."""
        for record in event.heard:
            claims = record.message.claims if isinstance(record.message, ConsumerReady) else ()
            view = after.consumers.get(record.message.consumer) if claims else None
            for sent in view.sent if view is not None else ():
                if not sent.left.isdisjoint(claims):
                    self.claims.add("granted" if sent.starts else "denied")

    def _phases(self, before: Mapping[ConsumerId, View], after: Mapping[ConsumerId, View]) -> None:
        for consumer, view in after.items():
            known = before.get(consumer)
            if known is view:
                continue
            if known is None:
                self.phases.add((None, view.phase))
            elif view.phase is Phase.AWAITED and known.phase is not Phase.AWAITED:  # gone, and created again at once
                self.phases.update([(known.phase, None), (None, view.phase)])
            elif known.phase is not view.phase:
                self.phases.update(_moves(known.phase, view.phase))
        if len(after) <= len(before):
            self.phases.update((view.phase, None) for consumer, view in before.items() if consumer not in after)

    def consumer(self, event: ConsumerEvent, effects: tuple[ConsumerEffect, ...]) -> None:
        self.consumer_events.add(type(event))
        for effect in effects:
            self.consumer_effects.add(type(effect))
        if isinstance(event, AssignmentChanged):
            self.refusals.update(refused.kind for refused in event.refused)
        elif isinstance(event, CycleEnded) and event.dropped:
            self.refusals.update(refused.kind for refused in event.dropped)

    def fault(self, name: str) -> None:
        self.faults[name] = self.faults.get(name, 0) + 1

    def ask(self, name: str) -> None:
        self.asks[name] = self.asks.get(name, 0) + 1

    def add(self, other: "Coverage") -> None:
        for name in (
            *("controller_events", "controller_effects", "consumer_events", "consumer_effects"),
            *("transitions", "phases", "refusals", "nonsense", "measurements", "answers", "holds"),
            *("failing_topics", "stuck_partitions", "claims", "suspects"),
        ):
            getattr(self, name).update(getattr(other, name))
        for name, count in other.faults.items():
            self.faults[name] = self.faults.get(name, 0) + count
        for name, count in other.asks.items():
            self.asks[name] = self.asks.get(name, 0) + count


def _moves(before: Phase, after: Phase) -> Iterable[tuple[Phase, Phase]]:
    """The moves of one consumer in a step. One poll may return that it is ready and that it shuts down: it was ready in
    between. (The controller asserts each move as it makes it.)"""
    if (before, after) in PHASES:
        return [(before, after)]
    return [(before, Phase.READY), (Phase.READY, after)]
