"""The topics over which the group communicates: the controller looks for other groups on them, creates and grows them.

Each request waits for the brokers, however long they are away.
"""

from collections.abc import Callable

from restow.kafka.admin import Admin
from restow.kafka.channels.neighbours import check_topics
from restow.kafka.errors import NotAllowed, RequestRefused
from restow.kafka.outages import Outages
from restow.kafka.topics import ensure_topics, grow_topics
from restow.settings import Settings
from restow.waiting import waiting


class GroupTopics:
    def __init__(self, settings: Settings, admin: Admin, outages: Outages) -> None:
        self._settings, self._admin, self._outages = settings, admin, outages
        self._grown_to = 0

    def check(self, is_stopping: Callable[[], bool]) -> None:
        """Looks for other groups on this group's topics. Raises TopicsInUse."""
        with waiting(f"the brokers at {self._settings.kafka.bootstrap}"):
            existing = self._outages.until_answered(self._admin.cluster, final=(NotAllowed,)).leaders
        self._outages.until_answered(lambda: check_topics(self._settings, existing, is_stopping), final=(NotAllowed,))

    def make(self) -> None:
        with waiting(f"the brokers at {self._settings.kafka.bootstrap}"):
            self._outages.until_answered(lambda: ensure_topics(self._admin, self._settings.topics), final=(NotAllowed,))

    def grow_for(self, consumer: int) -> bool:
        """Grows the topics, so that a new consumer's partitions exist before it does. Returns whether they have more
        partitions now."""
        if consumer <= self._grown_to:
            return False
        wanted = max(consumer, self._settings.topics.most_consumers)
        self._outages.until_answered(
            lambda: grow_topics(self._admin, self._settings.topics, wanted), final=(NotAllowed, RequestRefused)
        )
        self._grown_to = wanted
        return True
