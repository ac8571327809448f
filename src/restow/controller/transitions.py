"""The controller's states and the ways between them, as data: what is not in the tables can't happen.

`machine.py` checks every transition against them; docs/controller.md has the diagram drawn from them.
"""

from enum import StrEnum
from typing import Final


class Stage(StrEnum):
    """Where the controller is. Reassign is a call and takes no time; it has a name because people look for it."""

    SYNCHRONIZE = "Synchronize"
    SENTINEL = "Sentinel"
    REASSIGN = "Reassign"
    MANAGE = "Manage"


class Cause(StrEnum):
    ALL_KNOWN = "every consumer has answered or was given up"
    OVERLOAD = "a consumer's load is above its trigger"
    UNASSIGNED = "a partition of interest has no consumer"
    GONE = "a consumer disappeared"
    REFUSED = "a consumer refused a partition"
    TOPICS = "the topics of interest changed"
    DISAGREEMENT = "a consumer holds something else than was believed"
    LONG_SINCE = "nobody has looked for a long time"
    HANDOVER = "a consumer was given up: it neither answers nor reports"
    NOT_READY = "a consumer that was created or restarted did not come up"
    OUTDATED = "a consumer runs by older settings"
    BACK = "a consumer is back with its new settings"
    NO_CHANGE = "nothing is better than what is"
    CHANGE = "there is something to change"
    DONE = "everything is where it should be"


TRANSITIONS: Final = frozenset(
    [
        (Stage.SYNCHRONIZE, Stage.SENTINEL, Cause.ALL_KNOWN),
        *(
            (Stage.SENTINEL, Stage.REASSIGN, cause)
            for cause in (
                *(Cause.OVERLOAD, Cause.UNASSIGNED, Cause.GONE, Cause.REFUSED, Cause.TOPICS),
                *(Cause.DISAGREEMENT, Cause.LONG_SINCE, Cause.HANDOVER, Cause.NOT_READY),
                *(Cause.OUTDATED, Cause.BACK),
            )
        ),
        *(
            (Stage.MANAGE, Stage.REASSIGN, cause)
            for cause in (
                *(Cause.GONE, Cause.REFUSED, Cause.TOPICS),
                *(Cause.DISAGREEMENT, Cause.HANDOVER, Cause.NOT_READY, Cause.BACK),
            )
        ),
        (Stage.REASSIGN, Stage.SENTINEL, Cause.NO_CHANGE),
        (Stage.REASSIGN, Stage.MANAGE, Cause.CHANGE),
        (Stage.MANAGE, Stage.SENTINEL, Cause.DONE),
    ]
)


class Phase(StrEnum):
    """How the controller sees one consumer."""

    ASKED = "asked"
    """The platform lists it; it has not answered our query yet, and nobody knows what it holds."""
    AWAITED = "awaited"
    """It was created and has not said that it is ready."""
    READY = "ready"
    """It has told what it holds, and takes commands."""
    RESTARTED = "restarted"
    """It is being started again, because it didn't answer or by itself; its ConsumerReady is waited for."""
    ROLLING = "rolling"
    """It is well, and is being restarted with new settings; nobody else is given its partitions meanwhile."""
    LEAVING = "leaving"
    """It holds nothing and was told to go; its number is free when the platform says that it is gone."""
    LOST = "lost"
    """Given up by forced handover: it may still be writing, and its number is free when it is gone."""


PHASES: Final = frozenset(
    [
        *((None, phase) for phase in (Phase.ASKED, Phase.AWAITED, Phase.LOST)),
        *((Phase.ASKED, phase) for phase in (Phase.READY, Phase.RESTARTED, None)),
        *((Phase.AWAITED, phase) for phase in (Phase.READY, Phase.LEAVING, None)),
        *((Phase.READY, phase) for phase in (Phase.RESTARTED, Phase.ROLLING, Phase.LEAVING, None)),
        *((Phase.RESTARTED, phase) for phase in (Phase.READY, Phase.LEAVING, Phase.LOST, None)),
        *((Phase.ROLLING, phase) for phase in (Phase.READY, Phase.LEAVING, Phase.LOST, None)),
        (Phase.LEAVING, None),
        (Phase.LOST, None),
    ]
)
"""From and to; None: the platform doesn't have it. One that is found as it leaves is seen as lost until it is gone."""
