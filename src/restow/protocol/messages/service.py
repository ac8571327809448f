"""The desired state of a topic or of all consumers, on the service topic. `desired.py` has what else people want."""

from dataclasses import dataclass, field
from typing import Literal

from restow.errors import InvalidInput
from restow.protocol import checks
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.field_types import ADDED
from restow.protocol.topic_service import TopicService

Action = Literal["add", "change", "remove", "reset", "consumers"]


@dataclass(frozen=True, slots=True)
class ServiceUpdate:
    """The desired state of a topic that the group consumes, or of its consumers. The service topic is compacted: the
    newest record of a key counts, so that `add` and `change` mean the same. `reset` returns a topic to its definition
    in restow.toml; so does a tombstone, a record without a value."""

    action: Action
    """The change: `add`, `change`, `remove` or `reset` a topic, or set what `consumers` run as."""
    topic: str | None = None
    """The topic, unless the action is `consumers`; also the record's key."""
    service: TopicService | None = None
    """The definition, for `add` and `change`."""
    consumers: ConsumerSettings | None = None
    """The settings, for `consumers`."""
    by: str = field(default="", metadata=ADDED)
    """Who wrote this: user@host, for people."""
    at: str | None = field(default=None, metadata=ADDED)
    """When it was written, in UTC."""
    reason: str = field(default="", metadata=ADDED)
    """Why, for people."""

    def __post_init__(self) -> None:
        checks.authored(self.by, self.at, self.reason)
        wanted = {
            "topic": self.action != "consumers",
            "service": self.action in ("add", "change"),
            "consumers": self.action == "consumers",
        }
        for name, is_wanted in wanted.items():
            if (getattr(self, name) is not None) != is_wanted:
                raise InvalidInput(f"action {self.action} {'needs' if is_wanted else 'has no'} '{name}'")
        if self.consumers is not None and self.consumers.code is not None:
            raise InvalidInput("consumers.code can't be set; the controller finds the code beside its restow.toml")
        if self.topic is not None and not checks.TOPIC.fullmatch(self.topic):
            raise InvalidInput(f"topic is '{self.topic}'; it must be a topic's name")
