"""The controller's stages, the phases of a consumer, and the moves between them, as data.

A move that is not in these tables is a bug: `transition.py` asserts each one. docs/controller.md has the diagrams drawn
from them.
"""

from enum import StrEnum
from typing import Final, Self


class Stage(StrEnum):
    """What the controller is doing. Reassign takes no time; it is a stage because operators look for it."""

    SYNCHRONIZE = "Synchronize"
    SENTINEL = "Sentinel"
    REASSIGN = "Reassign"
    MANAGE = "Manage"


class Cause(StrEnum):
    """Why the controller changes its stage: a name for event logs, and words for operators."""

    words: str

    def __new__(cls, name: str, words: str) -> Self:
        cause = str.__new__(cls, name)
        cause._value_ = name
        cause.words = words
        return cause

    ALL_KNOWN = "all known", "every consumer has answered or was given up"
    OVERLOAD = "overload", "a consumer's load is above the trigger"
    RISE = "rise", "the load rises, and would overload a consumer before another has started"
    QUIET = "quiet", "nothing was written for long, and everything is read"
    UNASSIGNED = "unassigned", "a partition has no consumer"
    GONE = "gone", "a consumer disappeared"
    REFUSED = "refused", "a consumer refused a partition"
    TOPICS = "topics", "the consumed topics or their definitions changed"
    DISAGREEMENT = "disagreement", "a consumer holds other partitions than the controller assumed"
    PERIODIC = "periodic", "the assignment is due for its periodic review"
    CRASHED = "crashed", "a consumer crashed, and others can read its partitions before it is back"
    CLAIM = "claim", "a consumer is back after a crash, and claims what it held"
    HANDOVER = "handover", "a consumer was given up, with its partitions"
    NOT_READY = "not ready", "a consumer did not become ready after its creation or restart"
    OUTDATED = "outdated", "a consumer runs with outdated settings"
    ROLLED = "rolled", "a consumer is ready again after its restart"
    PINNED = "pinned", "a person pinned a partition to another consumer"
    RESTART = "restart", "a person asked for the restart of a consumer"
    HELD = "held", "the group was paused, or its decisions are only recommended"
    RESUMED = "resumed", "a pause has ended, or decisions are carried out again"
    LIMITS = "limits", "the least or most consumers of the group changed"
    NO_CHANGE = "no change", "the current assignment stays"
    RECOMMENDED = "recommended", "the change is recommended, and not carried out"
    CHANGE = "change", "the assignment changes"
    DONE = "done", "every partition is where it should be"


REPLAN_FROM_SENTINEL: Final = (
    *(Cause.OVERLOAD, Cause.UNASSIGNED, Cause.GONE, Cause.REFUSED, Cause.TOPICS, Cause.DISAGREEMENT),
    *(Cause.PERIODIC, Cause.HANDOVER, Cause.NOT_READY, Cause.OUTDATED, Cause.ROLLED),
    *(Cause.PINNED, Cause.RESTART, Cause.RESUMED, Cause.LIMITS, Cause.RISE, Cause.QUIET),
    *(Cause.CRASHED, Cause.CLAIM),
)
REPLAN_FROM_MANAGE: Final = (
    *(Cause.GONE, Cause.REFUSED, Cause.TOPICS, Cause.DISAGREEMENT),
    *(Cause.HANDOVER, Cause.NOT_READY, Cause.ROLLED, Cause.HELD, Cause.OVERLOAD),
    *(Cause.CRASHED, Cause.CLAIM),
)

TRANSITIONS: Final = frozenset(
    [
        (Stage.SYNCHRONIZE, Stage.SENTINEL, Cause.ALL_KNOWN),
        *((Stage.SENTINEL, Stage.REASSIGN, cause) for cause in REPLAN_FROM_SENTINEL),
        *((Stage.MANAGE, Stage.REASSIGN, cause) for cause in REPLAN_FROM_MANAGE),
        *((Stage.REASSIGN, Stage.SENTINEL, cause) for cause in (Cause.NO_CHANGE, Cause.RECOMMENDED)),
        (Stage.REASSIGN, Stage.MANAGE, Cause.CHANGE),
        (Stage.MANAGE, Stage.SENTINEL, Cause.DONE),
    ]
)


class Phase(StrEnum):
    """The controller's view of one consumer."""

    ASKED = "asked"
    """The platform lists it, and it has not answered this controller's query: what it holds is unknown."""
    AWAITED = "awaited"
    """Its creation was requested; its ConsumerReady has not arrived."""
    READY = "ready"
    """It has reported what it holds, and takes commands."""
    RESTARTED = "restarted"
    """It is restarting, because it did not answer or crashed; its ConsumerReady has not arrived."""
    CRASHED = "crashed"
    """Its process ended by itself, and the platform starts it again. Partitions in tables that refuse late writes are
    given to others; the rest waits for its ConsumerReady, which claims what it held."""
    ROLLING = "rolling"
    """It was healthy and is restarting with new settings; its partitions wait for it."""
    LEAVING = "leaving"
    """It holds nothing and its deletion was requested; its number is free when the platform reports it gone."""
    LOST = "lost"
    """Given up by forced handover: it may still be writing; its number is free when the platform reports it gone."""


PHASES: Final = frozenset(
    [
        *((None, phase) for phase in (Phase.ASKED, Phase.AWAITED, Phase.LOST)),
        *((Phase.ASKED, phase) for phase in (Phase.READY, Phase.RESTARTED, None)),
        *((Phase.AWAITED, phase) for phase in (Phase.READY, Phase.LEAVING, None)),
        *((Phase.READY, phase) for phase in (Phase.RESTARTED, Phase.CRASHED, Phase.ROLLING, Phase.LEAVING)),
        *((Phase.READY, phase) for phase in (Phase.LOST, None)),
        *((Phase.CRASHED, phase) for phase in (Phase.READY, Phase.LOST, None)),
        *((Phase.RESTARTED, phase) for phase in (Phase.READY, Phase.CRASHED, Phase.LEAVING, Phase.LOST, None)),
        *((Phase.ROLLING, phase) for phase in (Phase.READY, Phase.LEAVING, Phase.LOST, None)),
        (Phase.LEAVING, None),
        (Phase.LOST, None),
    ]
)
"""From and to; None is a consumer that does not exist. A consumer first seen as it leaves is LOST until it is gone."""
