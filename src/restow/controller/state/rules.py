"""What the controller decides by: the parts of restow.toml that concern it."""

from dataclasses import dataclass, field
from functools import cached_property

from restow.model import SortedMapping
from restow.packing import DEFAULT_PACKER
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.topic_names import NamesAndPatterns
from restow.protocol.topic_service import TopicService
from restow.settings import Consumer, Controller


@dataclass(frozen=True)
class Rules:
    """The parts of restow.toml that the controller decides by."""

    controller: Controller = field(default_factory=Controller)
    consumer: Consumer = field(default_factory=Consumer)
    consume: SortedMapping[str, TopicService] = field(default_factory=SortedMapping)
    """By topic name, or by a regular expression that starts with ^."""
    packer: str = DEFAULT_PACKER
    own_topics: tuple[str, ...] = ()
    """The topics over which the group communicates: no regular expression matches them."""
    judges_evidence: bool = True
    """Whether the backlogs of stuck and failing partitions are left out of the load, and scale-ups are judged. Event
    logs before version 6 were made without."""
    checks_each_load: bool = True
    """Whether a consumer is closed by the loads of the last minutes, and not by the highest speed of each partition,
    which were seldom at the same time. Event logs without this were made by the second."""

    def service_of(self, topic: str) -> TopicService | None:
        if topic not in self._services:
            name = self._wanted.entry_for(topic, is_restows=topic in self.own_topics)
            self._services[topic] = None if name is None else self.consume[name].for_topic(topic)
        return self._services[topic]

    @cached_property
    def consumer_settings(self) -> ConsumerSettings:
        return self.consumer.settings

    @cached_property
    def _wanted(self) -> NamesAndPatterns:
        return NamesAndPatterns(self.consume)

    @cached_property
    def _services(self) -> dict[str, TopicService | None]:
        """Cached, because matching regular expressions is slow."""
        return {}
