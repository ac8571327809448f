"""Which topics the names and patterns of restow.toml mean, and which topics are restow's own.

The monitor, the controller and the command line choose topics with it. A pattern matches neither Kafka's internal
topics nor those over which the roles of a group communicate: a group that consumed its own reports would never come to
rest.
"""

import re
from collections.abc import Iterable
from typing import Final

from restow.protocol.channels import CHANNELS, CONTROLLER, MONITOR, QUERY, SERVICE

IN_EVERY_VERSION: Final = (MONITOR, CONTROLLER, QUERY, SERVICE)
"""A prefix with all of these is a group's. One alone is not: `customer-service` may be anybody's topic."""
INTERNAL: Final = "__"
"""The start of the names of Kafka's own topics, like __consumer_offsets."""


def topics_of_groups(topics: Iterable[str]) -> frozenset[str]:
    """restow's own topics among all topics of a cluster, of every group that uses it."""
    known = frozenset(topics)
    ending = f"-{CONTROLLER.name}"
    starts = (name.removesuffix(ending) for name in known if name.endswith(ending))
    of_groups = [start for start in starts if all(each.topic(start) in known for each in IN_EVERY_VERSION)]
    return frozenset(channel.topic(start) for start in of_groups for channel in CHANNELS)


class NamesAndPatterns:
    """Names of topics, and patterns: regular expressions that start with ^ and match a whole name."""

    def __init__(self, wanted: Iterable[str]) -> None:
        wanted = tuple(wanted)
        self.names = frozenset(each for each in wanted if not each.startswith("^"))
        self.patterns = frozenset(wanted) - self.names
        self._patterns = tuple(re.compile(each) for each in wanted if each.startswith("^"))

    def entry_for(self, topic: str, *, is_restows: bool) -> str | None:
        """The topic's own name, or else the first pattern that matches it. Returns None if it is not wanted.
        `is_restows`: whether it is a topic of restow's own, which only its name can mean."""
        if topic in self.names:
            return topic
        if is_restows or topic.startswith(INTERNAL):
            return None
        return next((pattern.pattern for pattern in self._patterns if pattern.fullmatch(topic)), None)
