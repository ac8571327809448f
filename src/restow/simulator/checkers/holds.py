"""The checker of holds: nothing is done for load while people or a schedule hold the group, or it only recommends.

What the group is held by is read from the records that people wrote, not from the controller's state. Recovery is
allowed; it is

- a new consumer, if a partition of a consumed topic has none that may read it, or partitions are refused: new settings
  or code, which it is the first to run with, may be the remedy;
- the deletion or restart of a consumer that failed, or whose restart a person asked for;
- a restart with new settings or code while partitions are refused, which may be the remedy;
- a Stop for a partition that is no longer consumed, is read by an old definition, is pinned, that two consumers may
  hold, or that a consumer claims after a crash; and every Start, which only follows a Stop or a loss.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from restow.controller.effects import Effect, Noted, Send
from restow.controller.events import Window
from restow.controller.reconcile import is_outdated
from restow.controller.state import State
from restow.controller.transitions import Phase
from restow.model import ConsumerId, TopicPartition
from restow.platform.interface import CreateConsumer, DeleteConsumer, RestartConsumer
from restow.protocol.checks import utc_s
from restow.protocol.messages.commands import StopConsumingCommand
from restow.protocol.messages.desired import GroupPause, RecommendOnly
from restow.protocol.messages.unions import OnService

if TYPE_CHECKING:
    from restow.simulator.world import World

AWAY = (Phase.LEAVING, Phase.LOST)


class Held:
    def __init__(self, report: Callable[[int, str], None], windows: Sequence[Window] = ()) -> None:
        """`windows`: of schedules."""
        self._report = report
        self._windows = tuple(window for window in windows if window.hold)
        self._pauses: list[tuple[int, GroupPause]] = []
        self._recommends: list[tuple[int, RecommendOnly]] = []
        self._ended: set[tuple[int | None, int]] = set()
        """The epoch of a controller, and the offset of a pause that has ended for it."""

    def written(self, offset: int, record: OnService) -> None:
        if isinstance(record, GroupPause):
            self._pauses.append((offset, record))
        elif isinstance(record, RecommendOnly):
            self._recommends.append((offset, record))

    def by(self, state: State) -> str | None:
        """What holds a controller that has read so far and has this wall clock; None if nothing does."""
        read_to = -1 if state.desired.offset is None else state.desired.offset
        pause = next((each for each in reversed(self._pauses) if each[0] <= read_to), None)
        if pause is not None and pause[1].paused and not self._is_over(state, *pause):
            return "paused"
        recommend = next((each for offset, each in reversed(self._recommends) if offset <= read_to), None)
        if recommend is not None and recommend.on:
            return "only recommending"
        is_held = any(state.utc_s is not None and window.is_open(state.utc_s) for window in self._windows)
        return "held by a schedule" if is_held else None

    def _is_over(self, state: State, offset: int, pause: GroupPause) -> bool:
        """A pause that has ended does not come back when the clock is set back, unless a new controller reads it."""
        is_over = pause.until is not None and state.utc_s is not None and state.utc_s >= utc_s(pause.until)
        if is_over and state.epoch is not None:
            self._ended.add((state.epoch, offset))
        return is_over or (state.epoch, offset) in self._ended

    def stepped(self, before: State, effects: Sequence[Effect], after: State) -> None:
        """One step of a controller's machine. Steps in which a hold begins or ends are not checked."""
        if not self._pauses and not self._recommends and not self._windows:
            return
        how, then = self.by(before), self.by(after)
        if then != "paused" and after.desired.pause is not None:
            self._report(4, "the controller is still paused after the end of the pause")
        if how is None or then is None:
            return
        failed = {each.subject for each in effects if isinstance(each, Noted) and each.kind == "failure"}
        for effect in effects:
            match effect:
                case CreateConsumer(consumer):
                    is_canary = bool(before.refused or after.refused)
                    if consumer not in before.consumers and not is_canary and not _unread(after):
                        self._report(4, f"consumer {consumer} is created while {how}, and every partition is read")
                case DeleteConsumer(consumer) | RestartConsumer(consumer):
                    view = before.consumers.get(consumer)
                    is_healthy = view is not None and view.phase is Phase.READY
                    is_asked = consumer in after.consumers and after.consumers[consumer].is_asked
                    is_remedy = isinstance(effect, RestartConsumer) and bool(after.refused)
                    if is_healthy and not is_asked and not is_remedy and f"consumer {consumer}" not in failed:
                        self._report(4, f"{effect.action} of the healthy consumer {consumer} while {how}")
                case Send(consumer, StopConsumingCommand() as command) if not _was_sent(before, consumer, command):
                    for partition in command.partitions:
                        is_news = not _is_stopping(before, consumer, partition)
                        is_denied = _is_denied(before, after, consumer, partition)
                        if is_news and not is_denied and _is_for_load(after, consumer, partition):
                            self._report(4, f"consumer {consumer} is to stop {partition} for load while {how}")
                case _:
                    pass

    def end(self, world: "World") -> None:
        """The controller in charge is held if people want it, and only then."""
        controller = world.controller_in_charge()
        if controller is None:
            return
        wanted, is_held = self.by(controller.state), controller.state.only_recovers
        if is_held != (wanted is not None):
            self._report(4, f"at the end the controller is {'held' if is_held else 'not held'}, and {wanted} wanted")


def _unread(state: State) -> bool:
    """Whether a partition has no consumer that may read it, or that it waits for."""
    views = [view for view in state.consumers.values() if view.phase not in AWAY]
    held = frozenset[TopicPartition]().union(*(view.may_hold | view.held_before_roll for view in views))
    consumed = frozenset(each for each in state.known if state.service_of(each.topic) is not None)
    return not consumed <= held


def _is_for_load(state: State, consumer: ConsumerId, partition: TopicPartition) -> bool:
    view = state.consumers[consumer]
    if state.service_of(partition.topic) is None or is_outdated(state, view, partition.topic):
        return False
    others = (each for number, each in state.consumers.items() if number != consumer)
    return partition not in state.desired.pins and not any(partition in each.may_hold for each in others)


def _is_denied(before: State, after: State, consumer: ConsumerId, partition: TopicPartition) -> bool:
    """Whether a Stop answers a claim: the consumer does not read the partition, and has said that it did before its
    crash, in this step or while the controller was still asking others."""
    then, now = before.consumers.get(consumer), after.consumers[consumer]
    is_back = then is None or then.incarnation != now.incarnation
    return partition not in now.held and (is_back or (then is not None and partition in then.claims))


def _was_sent(state: State, consumer: ConsumerId, command: StopConsumingCommand) -> bool:
    """Whether it is repeated because it has no answer. Consumers ignore it if they have a later command."""
    view = state.consumers.get(consumer)
    return view is not None and any(sent.command.sequence == command.sequence for sent in view.sent)


def _is_stopping(state: State, consumer: ConsumerId, partition: TopicPartition) -> bool:
    view = state.consumers.get(consumer)
    return view is not None and view.is_stopping(partition)
