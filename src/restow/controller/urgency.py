"""Retention first: partitions whose unread records would be deleted within the catch-up time are served first.

Their backlogs count as if they had to be worked off in half of the time that is left, up to a whole consumer. So they
are packed with the room that catching up takes, others leave their consumer, and consumers are opened if need be.
"""

from typing import Final

from restow.controller.events import RetentionSeen
from restow.controller.transition import Transition
from restow.model import SortedMapping
from restow.text import listed, spanned

RETENTION_FIRST: Final = "retention first"
"""The flag that names the partitions which are served first."""


def learn(transition: Transition, event: RetentionSeen) -> None:
    state = transition.state
    known = {each: left_s for each, left_s in event.left_s.items() if state.service_of(each.topic) is not None}
    transition.set(deadlines_s=SortedMapping({each: state.time_s + left_s for each, left_s in known.items()}))
    if known:
        least_s = min(known.values())
        when = f"in {spanned(least_s)}" if least_s else "at any moment"
        words = f"served first: unread records of {listed(sorted(known))} may be deleted {when}"
        transition.flag(RETENTION_FIRST, words)
    else:
        transition.clear(RETENTION_FIRST, "no unread records are near their deletion")
