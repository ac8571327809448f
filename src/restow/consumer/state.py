"""What a consumer knows, as one frozen value. `machine.py` makes a new one from the last and an event."""

from dataclasses import dataclass, field
from enum import Enum

from restow.consumer.answers import Answer
from restow.consumer.checkpoint import Saved
from restow.consumer.commands import Batch
from restow.consumer.events import QueryRead
from restow.consumer.report_window import Work
from restow.model import ConsumerId, SortedMapping
from restow.protocol.messages import Command, Digests, Offsets, TopicService


class Doing(Enum):
    """What was asked for and has not been answered yet. It is never two things."""

    ANNOUNCING = "telling that it is ready"
    CHANGING = "changing what is read"
    READING = "reading, or waiting for data and commands"
    NOTHING = "ended"


@dataclass(frozen=True, slots=True)
class State:
    consumer: ConsumerId
    report_every_s: float
    saved: Saved
    """What is on the volume."""
    doing: Doing = Doing.ANNOUNCING
    incarnation: int | None = None
    """Nothing until our ConsumerReady has its offset."""
    epoch: int = 0
    """The greatest seen; commands and queries of a smaller one are passed over."""
    positions: Offsets = field(default_factory=SortedMapping)
    """What it holds, and the next offset of each."""
    topics: SortedMapping[str, TopicService] = field(default_factory=SortedMapping)
    """What becomes of the topics that it holds something of."""
    lag_records: Offsets = field(default_factory=SortedMapping)
    """As the last cycle found it."""
    waiting: tuple[Command, ...] = ()
    """Read while something was under way; applied when that has ended."""
    batch: Batch | None = None
    """What is being applied, while it is CHANGING."""
    last_sequence: int = 0
    """Of the commands of this epoch that were applied."""
    answers: SortedMapping[int, tuple[Answer, ...]] = field(default_factory=SortedMapping)
    """To the last commands of this epoch, by sequence: a repeat is answered with them."""
    commands_read_to: int = 0
    query: QueryRead | None = None
    """The newest one that was not answered yet."""
    ending: bool = False
    work: Work = field(default_factory=Work)
    passed_over: int = 0
    """Commands and queries that were not for us, came too late, or came after the request to end."""

    @property
    def definitions(self) -> Digests:
        return SortedMapping({topic: service.digest for topic, service in self.topics.items()})

    @property
    def query_is_due(self) -> bool:
        """All commands before the query have been applied."""
        return self.query is not None and not self.waiting and self.commands_read_to >= self.query.commands_end

    @property
    def wants_a_word(self) -> bool:
        """Something waits for the end of the cycle: the process makes no idle pause longer for it."""
        return bool(self.waiting) or self.query_is_due or self.ending
