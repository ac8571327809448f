"""What a consumer wants done, in order. RunCycle and ChangeAssignment are answered with an event; nothing else is under
way meanwhile.
"""

from dataclasses import dataclass

from restow.consumer.checkpoint import Saved
from restow.model import SortedMapping, TopicPartition
from restow.protocol.messages import FromConsumer, Offsets, StartFrom, TopicService


@dataclass(frozen=True, slots=True)
class Tell:
    """To the controller, on partition 0. It is tried until the brokers have it."""

    message: FromConsumer


@dataclass(frozen=True, slots=True)
class Save:
    """To the volume, atomically and synced, before what follows is done."""

    saved: Saved


@dataclass(frozen=True, slots=True)
class ChangeAssignment:
    """One change of what is read: these end, those begin. Answered with AssignmentChanged."""

    stop: tuple[TopicPartition, ...]
    start: SortedMapping[TopicPartition, StartFrom]
    topics: SortedMapping[str, TopicService]
    """Of all that is held and started."""


@dataclass(frozen=True, slots=True)
class RunCycle:
    """Read from these positions on, transform, store; with nothing there, wait for data and commands at once, for a
    limited time. Answered with CycleEnded."""

    positions: Offsets
    topics: SortedMapping[str, TopicService]


@dataclass(frozen=True, slots=True)
class End:
    """Everything is stored and said: exit 0."""


Effect = Tell | Save | ChangeAssignment | RunCycle | End
