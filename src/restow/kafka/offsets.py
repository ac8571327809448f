"""Offsets, of logs and of the group. The pipelines use both.

LogOffsets    the first and the last stable offset of partitions: one request to each broker for all of them, so that
              looking for new records before every cycle costs little
GroupOffsets  the group's committed offsets, and where a partition starts that has none
"""

import logging
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from datetime import datetime
from typing import Any, Final

from confluent_kafka import IsolationLevel, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaTopicPartition
from confluent_kafka.admin import OffsetSpec

from restow.errors import RestowError
from restow.kafka.clients import make_admin_client, make_consumer
from restow.kafka.errors import UNKNOWN_TOPIC, NoAnswer, cause, explained
from restow.model import TopicPartition
from restow.settings import Kafka

log = logging.getLogger(__name__)

LOG_ANSWER_WITHIN_S: Final = 5.0
NEW_CLIENT_EVERY_S: Final = 1.0
"""After a failed request the client is replaced, at most this often."""

GROUP_ANSWER_WITHIN_S: Final = 10.0
COMMIT_WITHIN_MS: Final = 6000
"""How long a commit waits for an absent broker. With librdkafka's default of 45 seconds, a consumer could not end
within its grace time while brokers are away."""
COORDINATOR_PAUSE_S: Final = 0.1
COORDINATOR_MOVES: Final = frozenset(
    [
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    ]
)
"""The group's coordinator is moving to another broker, or that broker is still loading the group's offsets."""

FoundOffsets = tuple[dict[TopicPartition, int], RestowError | None]
"""The offsets that the brokers returned, and the error of the first partition without one."""


class LogOffsets:
    """The offsets that brokers have now. Returns what could be found beside an error, instead of raising it."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._client = make_admin_client(kafka)
        self._made_s = time.monotonic()

    def partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        """The partitions of the topics that exist. Asks for all topics: asking for a missing topic could create it."""
        try:
            known = self._client.list_topics(timeout=LOG_ANSWER_WITHIN_S).topics
        except KafkaException:
            return []
        found = {topic: known[topic].partitions for topic in topics if topic in known}
        return [TopicPartition(topic, number) for topic, numbers in found.items() for number in sorted(numbers)]

    def first(self, partitions: Iterable[TopicPartition]) -> FoundOffsets:
        """The offset of the oldest record that retention has left."""
        return self._list(partitions, OffsetSpec.earliest())

    def last_stable(self, partitions: Iterable[TopicPartition]) -> FoundOffsets:
        """The last stable offset: every transaction before it is decided."""
        return self._list(partitions, OffsetSpec.latest())

    def _list(self, partitions: Iterable[TopicPartition], spec: OffsetSpec) -> FoundOffsets:
        places = [KafkaTopicPartition(*partition) for partition in sorted(partitions)]
        if not places:
            return {}, None
        answers = self._client.list_offsets(
            dict.fromkeys(places, spec),
            isolation_level=IsolationLevel.READ_COMMITTED,
            request_timeout=LOG_ANSWER_WITHIN_S,
        )
        found: dict[TopicPartition, int] = {}
        first_error: RestowError | None = None
        for place, answer in answers.items():
            partition = TopicPartition(place.topic, place.partition)
            offset = self._offset(partition, answer)
            if isinstance(offset, int):
                found[partition] = offset
            else:
                first_error = first_error or offset
        if first_error:
            self._renew_client()
        return found, first_error

    def _offset(self, partition: TopicPartition, answer: "Future[Any]") -> int | RestowError:
        doing, right = f"read the offsets of {partition}", f"Describe on the topic {partition.topic}"
        try:
            return int(answer.result(LOG_ANSWER_WITHIN_S + 1.0).offset)
        except KafkaException as exception:
            return explained(cause(exception), doing, right, self._kafka.bootstrap)
        except NotInTime:
            return NoAnswer(f"can't {doing}: {self._kafka.bootstrap} doesn't answer")

    def _renew_client(self) -> None:
        """An admin client that met a partition without a leader, or with a new one, keeps asking by its cached metadata
        for a quarter of an hour. A new client fetches the metadata at once."""
        if time.monotonic() >= self._made_s + NEW_CLIENT_EVERY_S:
            self._client = make_admin_client(self._kafka)
            self._made_s = time.monotonic()


class GroupOffsets:
    """The committed offsets of a group, through a client that never joins it.

    Tables are the authority on positions. Committed offsets are for partitions that no table knows, and for tools that
    show the group's lag: a failed commit is logged and stops nothing.
    """

    def __init__(self, kafka: Kafka, group: str) -> None:
        self._kafka = kafka
        self._commits_fail = False
        self._client = make_consumer(
            kafka,
            {
                "group.id": group,
                "enable.auto.commit": False,
                # Looking for the start of a topic must not create it.
                "allow.auto.create.topics": False,
                "isolation.level": "read_committed",
                # This client joins no group, so that the session timeout limits nothing but commits.
                "session.timeout.ms": COMMIT_WITHIN_MS,
                "on_commit": self._committed,
            },
        )

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The committed offsets of the partitions that have one. Raises RestowError."""
        wanted = [KafkaTopicPartition(*partition) for partition in sorted(partitions)]
        if not wanted:
            return {}
        answers = self._fetch_committed(wanted)
        return {TopicPartition(place.topic, place.partition): place.offset for place in answers if place.offset >= 0}

    def start(self, partition: TopicPartition, start: str) -> int:
        """The offset for `start` as in TopicService: "earliest", "latest" or a time; the log's end for a time after the
        last record. Raises RestowError."""
        doing, right = f"find the start offset of {partition}", f"Read on the topic {partition.topic}"
        try:
            try:
                return self._find_start(partition, start)
            except KafkaException as exception:
                if cause(exception).code() not in UNKNOWN_TOPIC:
                    raise
            self._renew_metadata(partition.topic)
            return self._find_start(partition, start)
        except KafkaException as exception:
            raise self._explained(cause(exception), doing, right) from None

    def commit(self, offsets: Mapping[TopicPartition, int], wait: bool = False) -> None:
        """Commits in the background, unless `wait` is set. The result of a background commit is logged by a later call,
        so call this regularly, even with no offsets."""
        self._client.poll(0.0)  # runs `_committed` for earlier commits
        if not offsets:
            return
        places = [KafkaTopicPartition(*partition, offset) for partition, offset in sorted(offsets.items())]
        try:
            if wait:
                self._client.commit(offsets=places, asynchronous=False)
            else:
                self._client.commit(offsets=places, asynchronous=True)
        except KafkaException as exception:
            self._committed(cause(exception), places)

    def begin(self, offsets: Mapping[TopicPartition, int], stored: Collection[str]) -> None:
        """Commits where partitions begin. Waits for those whose topics aren't `stored` in a table: nothing else has
        their offsets."""
        self.commit({p: at for p, at in offsets.items() if p.topic not in stored}, wait=True)
        self.commit({p: at for p, at in offsets.items() if p.topic in stored})

    def close(self) -> None:
        self._client.close()

    def _find_start(self, partition: TopicPartition, start: str) -> int:
        first, end = self._client.get_watermark_offsets(KafkaTopicPartition(*partition), timeout=GROUP_ANSWER_WITHIN_S)
        if start in ("earliest", "latest"):
            return int(first if start == "earliest" else end)
        at_ms = round(datetime.fromisoformat(start).timestamp() * 1000)
        [place] = self._client.offsets_for_times(
            [KafkaTopicPartition(*partition, at_ms)], timeout=GROUP_ANSWER_WITHIN_S
        )
        if place.error is not None:
            raise KafkaException(place.error)
        return int(place.offset if place.offset >= 0 else end)

    def _renew_metadata(self, topic: str) -> None:
        """librdkafka answers from cached metadata, which live for a quarter of an hour and lack partitions added since.
        Fetching a topic's metadata renews the cache for all of its partitions."""
        found = self._client.list_topics(topic, timeout=GROUP_ANSWER_WITHIN_S).topics[topic]
        if found.error is not None:
            raise KafkaException(found.error)

    def _fetch_committed(self, wanted: list[KafkaTopicPartition]) -> list[KafkaTopicPartition]:
        deadline_s = time.monotonic() + GROUP_ANSWER_WITHIN_S
        while True:
            try:
                return self._client.committed(wanted, timeout=max(1.0, deadline_s - time.monotonic()))
            except KafkaException as exception:
                error = cause(exception)
                if error.code() not in COORDINATOR_MOVES or time.monotonic() > deadline_s:
                    raise self._explained(error, "read the group's offsets", "Read on the group") from None
            time.sleep(COORDINATOR_PAUSE_S)

    def _committed(self, error: KafkaError | None, places: Sequence[KafkaTopicPartition]) -> None:
        failed = error or next((place.error for place in places if place.error), None)
        if failed and not self._commits_fail:
            explanation = self._explained(failed, "commit offsets", "Read on the group and its topics")
            log.warning("%s; the data is stored nevertheless, and the next cycle commits again", explanation)
        elif not failed and self._commits_fail:
            log.info("offsets are committed again")
        self._commits_fail = bool(failed)

    def _explained(self, error: KafkaError, doing: str, right: str) -> RestowError:
        return explained(error, doing, right, self._kafka.bootstrap)
