"""What the controller knows. Frozen, like everything in it; what follows from it is derived, never cached beside it.

A consumer *may hold* the partitions it has reported and those of every Start it has not answered. A partition is given
to a consumer only when no other may hold it. So each unanswered command is kept until its answer, or until its consumer
is another incarnation, which obeys none of them.

whole.py     State: the load, the plans for it, and everything below
holdings.py  who may hold each partition, and which partitions wait
members.py   the consumers: how many there are, and which can be given partitions
wanted.py    what is wanted of the group: topics, settings, limits, holds
rules.py     restow.toml, as far as the controller decides by it
view.py      what is known of one consumer
sent.py      an unanswered command
pause.py     the pause after a failure
observed.py  small records of what was observed: crashes, scale-ups, speeds

State extends Holdings, which extends Members, which extends Wanted: each subject needs those below it and none above.
"""

from restow.controller.state.observed import (
    ForeignConsumers,
    LeftOut,
    MovesBegun,
    NoGain,
    PartitionCrash,
    Quiet,
    ScaleUp,
    TotalSpeed,
)
from restow.controller.state.pause import LONGEST_PAUSE, Pause
from restow.controller.state.rules import Rules
from restow.controller.state.sent import Sent
from restow.controller.state.view import AWAY, Lagging, View
from restow.controller.state.whole import State

__all__ = [
    "AWAY",
    "LONGEST_PAUSE",
    "ForeignConsumers",
    "Lagging",
    "LeftOut",
    "MovesBegun",
    "NoGain",
    "PartitionCrash",
    "Pause",
    "Quiet",
    "Rules",
    "ScaleUp",
    "Sent",
    "State",
    "TotalSpeed",
    "View",
]
