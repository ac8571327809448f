"""Scale to zero: a group to which nothing was written for `park_after_s`, and which has read everything, is parked.

All its consumers are closed. The next record brings them back: it changes the end offsets, which no filter smooths. The
group also wakes when end offsets become uncertain, for example because the monitor is silent. A new controller does not
know that a group is parked, and opens consumers until it has been quiet again.
"""

from typing import Final

from restow.controller.state import Quiet, State
from restow.controller.transition import Transition
from restow.controller.transitions import Phase
from restow.model import SortedMapping, TopicPartition

PARKED: Final = "parked"
"""The flag of a parked group."""
REPORTED_AFTER_S: Final = 30.0
"""A report counts only if it came so long after the last record: it may have been on its way when that was written."""


def watch(transition: Transition) -> None:
    """A measurement was believed: remembers since when the end offsets have not changed, and wakes a parked group."""
    state = transition.state
    if state.rules.controller.park_after_s is None or state.measured is None:
        return
    measured = state.measured.ends.items()
    ends = SortedMapping({topic: end for topic, end in measured if state.service_of(topic) is not None})
    if not ends or state.quiet is None or state.quiet.ends != ends:
        transition.set(quiet=Quiet(ends, state.time_s) if ends else None)
        wake(transition, "records arrive")


def wake(transition: Transition, words: str) -> None:
    if transition.state.is_parked:
        transition.set(is_parked=False)
        transition.clear(PARKED, words)


def is_due(state: State) -> bool:
    """Whether the group should be parked."""
    after_s, quiet = state.rules.controller.park_after_s, state.quiet
    if after_s is None or quiet is None or state.is_parked or state.least_consumers or not state.consumers:
        return False
    if state.time_s - quiet.since_s < after_s or state.desired.taken_pins or state.only_recovers:
        return False
    return _has_read_everything(state, quiet)


def _has_read_everything(state: State, quiet: Quiet) -> bool:
    """By reported lags, and by offsets: a consumer reports no lag of partitions that it has just been given, before it
    has looked how far they are behind."""
    held: set[TopicPartition] = set()
    unread = dict(quiet.ends)
    for view in state.consumers.values():
        is_settled = view.phase is Phase.READY and not view.sent
        if not is_settled or view.report is None or view.report_s < quiet.since_s + REPORTED_AFTER_S:
            return False
        if any(view.report.lag_records.get(partition, 1) for partition in view.held):
            return False
        held |= view.held
        for partition in view.held:
            unread[partition.topic] = unread.get(partition.topic, 0) - view.report.next_offsets.get(partition, 0)
    if any(records > 0 for records in unread.values()):
        return False
    return all(each in held for each in state.known if state.service_of(each.topic) is not None)


def park(transition: Transition) -> None:
    after_s = transition.state.rules.controller.park_after_s
    transition.set(is_parked=True)
    words = f"nothing was written for {after_s:g} s, and everything is read; no consumer runs until a record comes"
    transition.flag(PARKED, words)
