"""What the consumer's machine asks its process to do, in order.

RunCycle and ChangeAssignment are answered with an event; the machine requests nothing else until then, except reports.
"""

from dataclasses import dataclass

from restow.consumer.checkpoint import Checkpoint
from restow.model import SortedMapping, TopicPartition
from restow.protocol.field_types import Offsets, StartFrom
from restow.protocol.messages.unions import FromConsumer
from restow.protocol.topic_service import TopicService


@dataclass(frozen=True, slots=True)
class Send:
    """Send the message to the controller, on partition 0. Retried until the brokers acknowledge it."""

    message: FromConsumer


@dataclass(frozen=True, slots=True)
class Save:
    """Write the checkpoint to the volume, atomically and synced, before the next effect."""

    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class ChangeAssignment:
    """Stop and start partitions. Answered with AssignmentChanged."""

    stop: tuple[TopicPartition, ...]
    start: SortedMapping[TopicPartition, StartFrom]
    topics: SortedMapping[str, TopicService]
    """The definitions of all topics that are read after the change."""


@dataclass(frozen=True, slots=True)
class RunCycle:
    """Read from these positions on, transform, store; without new records, wait for them for a limited time. Answered
    with CycleEnded."""

    positions: Offsets
    topics: SortedMapping[str, TopicService]
    suspects: tuple[TopicPartition, ...] = ()
    """Consumers crashed while they read these: each is read in small ranges, and not together with others."""


@dataclass(frozen=True, slots=True)
class End:
    """Exit with code 0: everything is stored and sent."""


Effect = Send | Save | ChangeAssignment | RunCycle | End
