"""Poison: a partition that crashes its consumers is handed to no other consumer.

A partition is a suspect when two of its consumers crashed within ten minutes and it was not read beyond the first crash
in between. It then waits for its own consumer, which reads it alone and in small ranges, and no plan moves it, not even
while that consumer refuses it because its table can't be opened. Only if the consumer is closed or given up does
another get it, with the same care. The consumer says in its reports when it has read all that was there after the
crash: the partition is no suspect any more.

A crash that no record caused, such as a killed process, leaves no suspects where records arrive: reports show that the
next consumer has read on.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from restow.controller.state import PartitionCrash, State, View
from restow.controller.transition import Transition
from restow.model import Assignment, ConsumerId, SortedMapping, TopicPartition
from restow.protocol.messages.reports import ConsumerReport
from restow.text import listed

WITHIN_S: Final = 600.0
"""Two crashes within this time make a partition a suspect."""
SUSPECTS: Final = "suspected partitions"
"""The flag that is raised while there are suspects."""


def crashed(transition: Transition, consumer: ConsumerId, view: View) -> None:
    """The process of a consumer has crashed, with all that it held."""
    state, now_s = transition.state, transition.state.listened_s
    recent = {p: crash for p, crash in state.crashes.items() if now_s - crash.at_s <= WITHIN_S}
    again = frozenset(partition for partition in view.may_hold if partition in recent)
    # The crash of a suspect is kept, however old: `learn` clears suspects by it.
    kept = {p: crash for p, crash in state.crashes.items() if p in state.suspects}
    crashes = {**recent, **kept, **dict.fromkeys(view.may_hold, PartitionCrash(now_s, consumer=consumer))}
    transition.set(crashes=SortedMapping(crashes), suspects=state.suspects | again)
    _flag(transition)


def started(transition: Transition, offsets: Mapping[TopicPartition, int]) -> None:
    """Consumers read these partitions from these offsets on."""
    crashes = transition.state.crashes
    first = {
        p: replace(crashes[p], offset=at) for p, at in offsets.items() if p in crashes and crashes[p].offset is None
    }
    if first:
        transition.set(crashes=SortedMapping({**crashes, **first}))


def learn(transition: Transition, view: View, report: ConsumerReport) -> None:
    """A partition that was read beyond its last crash is innocent; a suspect is, when its consumer says so."""
    crashes = transition.state.crashes
    if not crashes:
        return
    held = {p: at for p, at in report.next_offsets.items() if p in crashes and p in view.held}
    if not held:
        return
    innocent = {p for p, at in held.items() if crashes[p].offset is not None and _is_beyond(transition, report, p, at)}
    transition.set(crashes=SortedMapping({p: crash for p, crash in crashes.items() if p not in innocent}))
    started(transition, held)
    if not innocent.isdisjoint(transition.state.suspects):
        transition.set(suspects=transition.state.suspects - innocent)
        _flag(transition)


def consumers_of_suspects(state: State, current: Assignment) -> dict[TopicPartition, ConsumerId]:
    """The consumer on which a plan leaves each suspect: its present reader, else the last that crashed on it."""
    found: dict[TopicPartition, ConsumerId] = {}
    for partition in state.suspects:
        crash = state.crashes.get(partition)
        consumer = current.get(partition, None if crash is None else crash.consumer)
        if consumer is not None and consumer in current.consumers:
            found[partition] = consumer
    return found


def review(transition: Transition) -> None:
    """Forgets the suspects of topics that are no longer consumed."""
    state = transition.state
    wanted = frozenset(each for each in state.suspects if state.service_of(each.topic) is not None)
    if wanted != state.suspects:
        transition.set(suspects=wanted)
        _flag(transition)


def _is_beyond(transition: Transition, report: ConsumerReport, partition: TopicPartition, at: int) -> bool:
    if partition in transition.state.suspects:
        return partition not in report.suspects
    return at > (transition.state.crashes[partition].offset or 0)


def _flag(transition: Transition) -> None:
    suspects = transition.state.suspects
    if suspects:
        words = f"{listed(sorted(suspects))}: consumers crashed twice within 10 min while they read this"
        transition.flag(SUSPECTS, f"{words}; only its own consumer reads it, in small ranges; see that one's log")
    else:
        transition.clear(SUSPECTS, "they were read without a crash")
