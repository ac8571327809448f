"""What the controller wants done, in order. The process or the simulator does it; `Moved` and `Noted` only inform.

The `Send`s of a step and the intention to change the platform go into one transaction, and the platform is changed
after its commit: a controller that was replaced in the meantime is fenced there.
"""

from dataclasses import dataclass
from typing import Literal

from restow.controller.transitions import Cause, Stage
from restow.model import ConsumerId
from restow.platform.interface import PlatformRequest
from restow.protocol.messages.commands import StateQuery
from restow.protocol.messages.unions import Command


@dataclass(frozen=True, slots=True)
class Send:
    """Sends a message to the consumer's partition: a command on the controller topic, a query on the query topic."""

    consumer: ConsumerId
    message: Command | StateQuery


@dataclass(frozen=True, slots=True)
class ListConsumers:
    """Asks the platform for its consumers; the answer is ConsumersListed."""


@dataclass(frozen=True, slots=True)
class Moved:
    """The controller changed its stage."""

    source: Stage
    target: Stage
    cause: Cause
    words: str


NoteKind = Literal["decision", "flag", "cleared", "consumer", "failure"]
"""A decision of the packer; a condition that operators should know of, and its end; what became of a consumer, and
what went wrong with one."""


@dataclass(frozen=True, slots=True)
class Noted:
    """A line for operators, with its reason."""

    kind: NoteKind
    subject: str
    """The flag, partition or consumer that it is about."""
    words: str

    @property
    def line(self) -> str:
        """The log line. A packer's reason already starts with its subject."""
        return self.words if self.words.startswith(self.subject) else f"{self.subject}: {self.words}"


Effect = Send | ListConsumers | PlatformRequest | Moved | Noted
