"""What a picture needs of the past: since when things are as they are, restarts, and the last decisions.

The controller's state has no wall clock and forgets why it came to be as it is. The chronicle follows each step of the
machine beside it, in the controller's process and in the simulator, and changes nothing there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from restow.controller.effects import Effect, Moved, Noted
from restow.controller.state import State
from restow.controller.transitions import Cause, Stage
from restow.model import ConsumerId, TopicPartition
from restow.picture.picture import Decision

MOST_DECISIONS: Final = 20
MOST_REASONS: Final = 30
"""Of one decision: a plan for thousands of partitions has as many reasons."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a partition is, and since when."""

    consumer: ConsumerId | None
    since: str


@dataclass(frozen=True, slots=True)
class Chronicle:
    stage_since: str
    flags: Mapping[str, str] = field(default_factory=dict)
    """When each raised flag was raised."""
    phases: Mapping[ConsumerId, str] = field(default_factory=dict)
    """When each consumer entered its phase."""
    restarts: Mapping[ConsumerId, int] = field(default_factory=dict)
    """How many processes followed the first of each consumer."""
    places: Mapping[TopicPartition, Place] = field(default_factory=dict)
    """The partitions that were started or stopped since this controller began."""
    decisions: tuple[Decision, ...] = ()
    """Newest first."""

    def followed(self, before: State, effects: Sequence[Effect], after: State, time: str) -> "Chronicle":
        """The chronicle after a step of the machine at this time."""
        chronicle = self
        if before.stage is not after.stage:
            chronicle = replace(chronicle, stage_since=time)
        if before.flags is not after.flags:
            chronicle = replace(chronicle, flags={name: chronicle.flags.get(name, time) for name in after.flags})
        if before.consumers is not after.consumers:
            chronicle = chronicle._with_consumers(before, after, time)
        decision = _decision(effects, time)
        if decision is not None:
            chronicle = replace(chronicle, decisions=(decision, *chronicle.decisions)[:MOST_DECISIONS])
        return chronicle

    def _with_consumers(self, before: State, after: State, time: str) -> "Chronicle":
        phases = {number: self.phases.get(number, time) for number in after.consumers}
        restarts = {number: self.restarts[number] for number in after.consumers if number in self.restarts}
        lost: dict[TopicPartition, Place] = {}
        won: dict[TopicPartition, Place] = {}
        is_news = before.consumers.keys() != after.consumers.keys()
        for number in before.consumers.keys() | after.consumers.keys():
            old, new = before.consumers.get(number), after.consumers.get(number)
            if old is new:
                continue
            if old is not None and new is not None and old.phase is not new.phase:
                phases[number], is_news = time, True
            if old is not None and new is not None and _is_other_process(old.incarnation, new.incarnation):
                restarts[number], is_news = restarts.get(number, 0) + 1, True
            held_before = frozenset() if old is None else old.held
            held_after = frozenset() if new is None else new.held
            if held_before is not held_after and old is not None and not old.is_unknown:  # else: it had them before
                lost.update((partition, Place(None, time)) for partition in held_before - held_after)
                won.update((partition, Place(number, time)) for partition in held_after - held_before)
        if not lost and not won and not is_news:
            return self
        places = {**self.places, **lost, **won} if lost or won else self.places
        return replace(self, phases=phases, restarts=restarts, places=places)


def _is_other_process(before: int | None, after: int | None) -> bool:
    return before is not None and after is not None and before != after


def _decision(effects: Sequence[Effect], time: str) -> Decision | None:
    """The decision of a step, if its plan changes anything."""
    noted = [effect for effect in effects if isinstance(effect, Noted) and effect.kind == "decision"]
    if not noted:
        return None
    causes = [effect for effect in effects if isinstance(effect, Moved) and effect.target is Stage.REASSIGN]
    summary, *reasons = noted
    return Decision(
        time,
        causes[-1].words if causes else "",
        summary.words,
        tuple(reason.line for reason in reasons[:MOST_REASONS]),
        max(0, len(reasons) - MOST_REASONS),
        any(isinstance(effect, Moved) and effect.cause is Cause.RECOMMENDED for effect in effects),
    )
