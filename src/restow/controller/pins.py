"""Pins: a person keeps a partition on one consumer until a time (`restow move`).

A pin is judged once, when its record has arrived and speeds are known: it is taken, or refused in words. A pin that is
taken is carried out at once, also while the group is paused or only recommends, because a person asked for exactly this
move. Until it ends, every plan has the partition on that consumer, which is not closed and gives up other partitions
first.

A pin never keeps a partition unread. It holds while its consumer restarts, because its partitions wait for it then; it
is dropped when the consumer leaves, is given up, or refuses the partition. A new controller reads every pin again: one
whose partition is on its consumer holds, and every other is judged like a new one.
"""

from collections.abc import Collection
from typing import Final

from restow.controller.effects import Noted
from restow.controller.pin_checks import consumer_of, end_of, is_over, is_there, refusal, until_of
from restow.controller.state import State
from restow.controller.transition import Transition
from restow.controller.transitions import Cause, Phase, Stage
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.packing.problem import PinnedTo
from restow.protocol.messages.desired import PartitionPin
from restow.text import clock, said_by

WAITS_FOR_SPEEDS: Final = "taken; it is judged when speeds arrive, which say whether the consumer has room"


def change(transition: Transition, pin: PartitionPin, offset: int | None) -> None:
    """A record of the service topic: a pin, or the end of one."""
    desired = transition.state.desired
    was_taken = pin.partition in desired.taken_pins
    transition.set(desired=desired.without_pin(pin.partition))
    if was_taken:
        _plan_without_it(transition)
    if pin.consumer is None:
        if was_taken:
            _note(transition, pin.partition, f"not pinned any more{said_by(pin.by, pin.reason)}")
    elif transition.state.epoch is not None or not is_over(transition.state, pin):  # else: it ended long ago
        transition.set(desired=transition.state.desired.with_pin(pin, offset))


def review(transition: Transition) -> None:
    """Judges new pins, and drops those whose time is over or whose consumer has left. Runs after each event, once every
    consumer is known."""
    for partition, pin in transition.state.desired.pins.items():
        if partition in transition.state.desired.unjudged:
            _judge(transition, pin)
        elif (why := end_of(transition.state, pin)) is not None:
            _drop(transition, partition, why)


def drop_refused(transition: Transition, consumer: ConsumerId, partitions: Collection[TopicPartition]) -> None:
    """The consumer refused the partitions: another may be able to read them."""
    for partition, pin in transition.state.desired.taken_pins.items():
        if partition in partitions and pin.consumer == consumer:
            _drop(transition, partition, f"consumer {consumer} refused it, and another may read it")


def plannable(state: State, partitions: Collection[TopicPartition]) -> SortedMapping[TopicPartition, PinnedTo]:
    """The pins for a plan of these partitions. One that has yet to move stays where it is until its consumer is
    ready."""
    if not state.desired.pins:
        return SortedMapping()
    usable = frozenset(state.usable())
    return SortedMapping(
        {
            partition: PinnedTo(consumer_of(pin), words(pin))
            for partition, pin in state.desired.taken_pins.items()
            if pin.consumer in usable
            and partition in partitions
            and (state.consumers[consumer_of(pin)].phase is Phase.READY or is_there(state, pin))
        }
    )


def are_misplaced(state: State) -> bool:
    """Whether another consumer reads a pinned partition, and its own is ready for it."""
    if not state.desired.pins:
        return False
    usable, holders = frozenset(state.usable()), state.holders()
    return any(
        pin.consumer in usable
        and state.consumers[consumer_of(pin)].phase is Phase.READY
        and [other for other in holders.get(partition, ()) if other in usable] not in ([], [pin.consumer])
        for partition, pin in state.desired.taken_pins.items()
    )


def words(pin: PartitionPin) -> str:
    return f"pinned until {clock(until_of(pin))}{said_by(pin.by, pin.reason)}"


def _judge(transition: Transition, pin: PartitionPin) -> None:
    state, partition = transition.state, pin.partition
    offset = state.desired.unjudged[partition]
    why_not, stays = refusal(state, pin), is_there(state, pin)
    if why_not is not None:
        transition.set(desired=state.desired.without_pin(partition).answered(offset, False, f"refused: {why_not}"))
        _note(
            transition,
            partition,
            f"not pinned to consumer {pin.consumer}{said_by(pin.by, pin.reason)}; refused: {why_not}",
        )
    elif state.is_scaling_frozen and not stays:
        _wait_for_speeds(transition, offset)
    else:
        taken = f"{'stays on' if stays else 'moves to'} consumer {pin.consumer}, {words(pin)}"
        transition.set(desired=state.desired.with_judged(partition).answered(offset, True, f"taken: it {taken}"))
        _note(transition, partition, taken)
        if state.stage is Stage.SENTINEL and are_misplaced(transition.state):
            transition.replan_cause = transition.replan_cause or Cause.PINNED


def _wait_for_speeds(transition: Transition, offset: int | None) -> None:
    desired = transition.state.desired
    if not any(answer.offset == offset and answer.words == WAITS_FOR_SPEEDS for answer in desired.answers):
        transition.set(desired=desired.answered(offset, True, WAITS_FOR_SPEEDS))


def _drop(transition: Transition, partition: TopicPartition, why: str) -> None:
    transition.set(desired=transition.state.desired.without_pin(partition))
    _plan_without_it(transition)
    _note(transition, partition, f"not pinned any more: {why}")


def _plan_without_it(transition: Transition) -> None:
    """Another plan may be possible now. In a group that is held, only the pin justified its move: what has not begun of
    it is withdrawn."""
    transition.set(tolerated=frozenset())
    if transition.state.stage is Stage.MANAGE and transition.state.only_recovers:
        transition.replan_cause = transition.replan_cause or Cause.HELD


def _note(transition: Transition, partition: TopicPartition, text: str) -> None:
    transition.do(Noted("consumer", str(partition), text))
