"""Topics, leaders, offsets, configurations and log sizes of a cluster. The monitor samples with it, and `topics.py`
creates restow's topics with it.

Answers are never cached. Methods raise the errors in errors.py; those about many partitions or topics leave out the
ones without an answer.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection
from confluent_kafka import TopicPartition as KafkaTopicPartition
from confluent_kafka.admin import ConfigResource, NewPartitions, NewTopic, OffsetSpec, ResourceType

from restow.errors import RestowError
from restow.kafka.clients import make_admin_client
from restow.kafka.errors import (
    UNAUTHENTICATED,
    UNCONNECTED,
    NoAnswer,
    NoSuchTopic,
    RequestRefused,
    cause,
    explained,
)
from restow.kafka.log_dirs import LogDirs
from restow.kafka.record_sizes import Answers, RecordSizes
from restow.model import TopicPartition
from restow.settings import Kafka

Key = TypeVar("Key")

ANSWER_WITHIN_S = 10.0

NO_LEADER = -1

LEADERLESS = (KafkaError.LEADER_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION)
"""A broker answers so about a partition that is being created, or is electing a leader: a passing state, no error."""

CUT_OFF = (KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN)
"""librdkafka answers so when no connection comes about, without the reason."""

OFFSETS_AT_ONCE = 500
"""Partitions per request; requests run concurrently. librdkafka's time for one request grows faster than its number of
partitions: 5,000 took 0.2 s of CPU in one request, and 0.1 s in requests of 500."""


@dataclass(frozen=True, slots=True)
class Cluster:
    nodes: tuple[int, ...]
    leaders: Mapping[str, tuple[int, ...]]
    """The leader of each partition, or NO_LEADER, by topic. Topics that can't be described, because they are being
    created or deleted, are left out."""

    def partitions_of(self, topics: Iterable[str]) -> list[TopicPartition]:
        return [TopicPartition(topic, number) for topic in topics for number in range(len(self.leaders.get(topic, ())))]


class Admin:
    def __init__(self, kafka: Kafka, answer_within_s: float = ANSWER_WITHIN_S) -> None:
        self._kafka = kafka
        self._within_s = answer_within_s
        self._authentication_error: KafkaError | None = None
        self._connection_error: KafkaError | None = None
        self._client = make_admin_client(kafka, self._on_error)
        self._log_dirs = LogDirs(kafka, answer_within_s)
        self._record_sizes = RecordSizes(kafka)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._log_dirs.close()
        self._record_sizes.close()

    def cluster(self) -> Cluster:
        """The nodes, and all topics that we have the right to describe."""
        try:
            metadata = self._client.list_topics(timeout=self._within_s)
        except KafkaException as exception:
            raise self._explained(exception, "list the topics", "Describe on the topics") from None
        return Cluster(
            nodes=tuple(sorted(metadata.brokers)),
            leaders={
                name: tuple(topic.partitions[number].leader for number in sorted(topic.partitions))
                for name, topic in sorted(metadata.topics.items())
                if topic.error is None
            },
        )

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """The ids of existing topics. A recreated topic has a new id."""
        asked = self._client.describe_topics(TopicCollection(sorted(topics)), request_timeout=self._within_s)
        answers, failures = self._answered(asked, "describe topics")
        _raise_if_unreachable(answers, failures)
        return {name: str(topic.topic_id) for name, topic in answers.items()}

    def start_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._offsets(partitions, OffsetSpec.earliest())

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset of the next record. Partitions whose leader doesn't answer are left out."""
        return self._offsets(partitions, OffsetSpec.latest())

    def stable_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The last stable offset: every transaction before it is decided. Partitions whose leader doesn't answer are
        left out."""
        return self._offsets(partitions, OffsetSpec.latest(), IsolationLevel.READ_COMMITTED)

    def topic_configs(self, topics: Iterable[str]) -> dict[str, Mapping[str, str] | RestowError]:
        """Each topic's configuration as it is in effect, with the brokers' defaults, or the error."""
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in sorted(topics)]
        if not resources:
            return {}
        asked = self._client.describe_configs(resources, request_timeout=self._within_s)
        return {resource.name: self._config(resource.name, future) for resource, future in asked.items()}

    def cleanup_policies(self, topics: Iterable[str]) -> dict[str, str | RestowError]:
        """Each topic's cleanup.policy ("delete", "compact" or "compact,delete"), or the error."""
        return {
            name: config if isinstance(config, RestowError) else config["cleanup.policy"]
            for name, config in self.topic_configs(topics).items()
        }

    def log_sizes(self, node: int, topics: Iterable[str] | None = None) -> dict[TopicPartition, int]:
        """The bytes of each log on a node, whether the node leads or follows it."""
        return self._log_dirs.sizes_on(node, topics)

    def record_sizes(self, ranges: Mapping[TopicPartition, range]) -> Answers:
        """The mean bytes of a record of each partition, by reading some of these offsets."""
        return self._record_sizes.of(ranges)

    def create_topic(
        self,
        name: str,
        partitions: int,
        replication_factor: int | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> bool:
        """Returns False if it exists already. Brokers show a new topic a moment later: `topics.wait_until_shown`."""
        topic = NewTopic(name, partitions, replication_factor or -1, config=dict(settings or {}))
        asked = self._client.create_topics([topic], operation_timeout=self._within_s, request_timeout=self._within_s)
        doing, right = f"create the topic {name}", f"Create on the topic {name}"
        return self._do(asked[name], doing, right, unless=KafkaError.TOPIC_ALREADY_EXISTS)

    def check_creation(
        self, name: str, partitions: int, replication_factor: int | None, settings: Mapping[str, str]
    ) -> None:
        """Has the brokers check the creation of a topic without creating it. Raises the error that it would meet."""
        topic = NewTopic(name, partitions, replication_factor or -1, config=dict(settings))
        within_s = self._within_s
        asked = self._client.create_topics(
            [topic], validate_only=True, operation_timeout=within_s, request_timeout=within_s
        )
        doing, right = f"create the topic {name}", f"Create on the topic {name}"
        self._do(asked[name], doing, right, unless=KafkaError.TOPIC_ALREADY_EXISTS)

    def grow_topic(self, name: str, partitions: int) -> bool:
        """Returns False if it has as many partitions already."""
        asked = self._client.create_partitions(
            [NewPartitions(name, partitions)], operation_timeout=self._within_s, request_timeout=self._within_s
        )
        doing, right = f"grow the topic {name} to {partitions} partitions", f"Alter on the topic {name}"
        return self._do(asked[name], doing, right, unless=KafkaError.INVALID_PARTITIONS)

    def delete_topic(self, name: str) -> bool:
        """Returns False if it doesn't exist."""
        asked = self._client.delete_topics([name], operation_timeout=self._within_s, request_timeout=self._within_s)
        doing, right = f"delete the topic {name}", f"Delete on the topic {name}"
        return self._do(asked[name], doing, right, unless=KafkaError.UNKNOWN_TOPIC_OR_PART)

    def _offsets(
        self,
        partitions: Iterable[TopicPartition],
        which: OffsetSpec,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> dict[TopicPartition, int]:
        wanted = [KafkaTopicPartition(topic, number) for topic, number in partitions]
        answers, failures = self._asked_for_offsets(wanted, which, isolation)
        # RequestRefused too: librdkafka answers "No leaders found" if it knows none of the partitions.
        unknown = [place for place, error in failures.items() if isinstance(error, NoSuchTopic | RequestRefused)]
        if unknown:
            # librdkafka caches that a topic didn't exist. Refresh the metadata of all topics, because asking for one by
            # name may create it.
            self.cluster()
            late, still = self._asked_for_offsets(unknown, which, isolation)
            answers, failures = answers | late, failures | still
        _raise_if_unreachable(answers, failures)
        return {TopicPartition(place.topic, place.partition): answer.offset for place, answer in answers.items()}

    def _asked_for_offsets(
        self, wanted: Sequence[KafkaTopicPartition], which: OffsetSpec, isolation: IsolationLevel
    ) -> tuple[dict[KafkaTopicPartition, Any], dict[KafkaTopicPartition, RestowError]]:
        asked: dict[KafkaTopicPartition, Any] = {}
        for start in range(0, len(wanted), OFFSETS_AT_ONCE):
            some = dict.fromkeys(wanted[start : start + OFFSETS_AT_ONCE], which)
            asked |= self._client.list_offsets(some, isolation_level=isolation, request_timeout=self._within_s)
        return self._answered(asked, "read offsets")

    def _config(self, topic: str, future: Any) -> Mapping[str, str] | RestowError:
        try:
            return {name: str(entry.value) for name, entry in future.result().items()}
        except KafkaException as exception:
            doing, right = f"read the configuration of {topic}", f"DescribeConfigs on the topic {topic}"
            return self._explained(exception, doing, right)

    def _answered(self, asked: Mapping[Key, Any], doing: str) -> tuple[dict[Key, Any], dict[Key, RestowError]]:
        """The answers, and the errors of the keys without one. Leaderless partitions are in neither."""
        answers: dict[Key, Any] = {}
        failures: dict[Key, RestowError] = {}
        for key, future in asked.items():
            try:
                answers[key] = future.result()
            except KafkaException as exception:
                if cause(exception).code() not in LEADERLESS:
                    failures[key] = self._explained(exception, doing, "Describe on the topics")
        return answers, failures

    def _do(self, future: Any, doing: str, right: str, *, unless: int) -> bool:
        """Returns False if the brokers answer with the error `unless`: there was nothing to do. Raises RestowError."""
        try:
            future.result()
        except KafkaException as exception:
            if cause(exception).code() == unless:
                return False
            raise self._explained(exception, doing, right) from None
        return True

    def _explained(self, exception: KafkaException, doing: str, right: str) -> RestowError:
        """Prefers what librdkafka reports to the error callback only, while the call itself times out: rejected
        credentials, and why no connection comes about."""
        self._client.poll(0)
        error, self._authentication_error = self._authentication_error or cause(exception), None
        if error.code() in CUT_OFF and self._connection_error is not None:
            error, self._connection_error = self._connection_error, None
        return explained(error, doing, right, self._kafka.bootstrap)

    def _on_error(self, error: KafkaError) -> None:
        if error.code() in UNAUTHENTICATED:
            self._authentication_error = error
        elif error.code() in UNCONNECTED:
            self._connection_error = error


def _raise_if_unreachable(answers: Mapping[Key, Any], failures: Mapping[Key, RestowError]) -> None:
    """Raises NoAnswer if there is no answer at all because no broker could be reached."""
    first = next(iter(failures.values()), None)
    if not answers and isinstance(first, NoAnswer):
        raise first
