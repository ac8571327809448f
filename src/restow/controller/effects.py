"""What a controller wants done, in order. The process (or the simulator) does it; `Moved` and `Noted` only tell people.

What is sent is committed before the platform is touched: `Send`s and the intention to create, delete or restart go into
one transaction, and a controller that was replaced meanwhile dies there.
"""

from dataclasses import dataclass
from typing import Literal

from restow.controller.transitions import Cause, Stage
from restow.model import ConsumerId
from restow.platform.interface import PlatformRequest
from restow.protocol.messages import Command, StateQuery


@dataclass(frozen=True, slots=True)
class Send:
    """To the consumer's partition: a command on the controller topic, a query on the query topic."""

    consumer: ConsumerId
    message: Command | StateQuery


@dataclass(frozen=True, slots=True)
class ListConsumers:
    """Answered with ConsumersListed."""


@dataclass(frozen=True, slots=True)
class Moved:
    """From one state to another, and why."""

    source: Stage
    target: Stage
    cause: Cause
    words: str


Kind = Literal["decision", "flag", "cleared", "consumer"]
"""A decision of the packer; something a person should know of, until it is cleared; what became of a consumer."""


@dataclass(frozen=True, slots=True)
class Noted:
    """Something that people want to know, with its reason."""

    kind: Kind
    subject: str
    """What it is about: the name of a flag, a partition, a consumer."""
    words: str

    @property
    def line(self) -> str:
        """For a log. Reasons name what they are about themselves."""
        return self.words if self.words.startswith(self.subject) else f"{self.subject}: {self.words}"


Effect = Send | ListConsumers | PlatformRequest | Moved | Noted
