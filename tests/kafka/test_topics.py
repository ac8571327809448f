"""restow's topics on a real broker: created as the protocol says, grown when needed, else left alone."""

from confluent_kafka.admin import AdminClient, ConfigResource

from restow.kafka.admin import Admin
from restow.kafka.clients import make_producer
from restow.kafka.topics import ensure_topics, grow_topics, wait_until_shown
from restow.settings import Kafka, Topics


def partitions_of(admin: Admin, prefix: str) -> dict[str, int]:
    leaders = admin.cluster().leaders
    return {name: len(found) for name, found in leaders.items() if name.startswith(prefix)}


def setting_of(kafka: Kafka, topic: str, name: str) -> str:
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    client = AdminClient({"bootstrap.servers": kafka.bootstrap})
    [answer] = client.describe_configs([resource]).values()
    return str(answer.result()[name].value)


def test_the_topics_are_created_only_if_they_are_missing(kafka: Kafka, admin: Admin, prefix: str) -> None:
    topics = Topics(prefix, most_consumers=4)
    names = (topics.monitor, topics.controller, topics.query, topics.service, topics.status)
    assert ensure_topics(admin, topics) == names
    assert partitions_of(admin, prefix) == dict(sorted(zip(names, (1, 5, 5, 1, 1), strict=True)))
    assert setting_of(kafka, topics.monitor, "retention.ms") == "-1"
    assert setting_of(kafka, topics.service, "cleanup.policy") == "compact"
    assert setting_of(kafka, topics.status, "cleanup.policy") == "compact"
    assert setting_of(kafka, topics.status, "min.compaction.lag.ms") == "86400000"
    assert setting_of(kafka, topics.controller, "cleanup.policy") == "delete"
    assert ensure_topics(admin, topics) == ()


def test_the_retention_of_measurements_can_be_set(kafka: Kafka, admin: Admin, prefix: str) -> None:
    topics = Topics(prefix, monitor_retention_ms=86_400_000)
    ensure_topics(admin, topics)
    assert setting_of(kafka, topics.monitor, "retention.ms") == "86400000"


def test_an_existing_topic_keeps_its_configuration_and_is_only_grown(kafka: Kafka, admin: Admin, prefix: str) -> None:
    topics = Topics(prefix, most_consumers=4)
    admin.create_topic(topics.controller, 2, settings={"retention.ms": "5000000"})
    wait_until_shown(admin, {topics.controller: 2})
    ensure_topics(admin, topics)
    assert partitions_of(admin, prefix)[topics.controller] == 5
    assert setting_of(kafka, topics.controller, "retention.ms") == "5000000"


def test_after_growing_a_new_consumers_partition_can_be_written_at_once(
    kafka: Kafka, admin: Admin, prefix: str
) -> None:
    topics = Topics(prefix, most_consumers=2)
    ensure_topics(admin, topics)
    assert grow_topics(admin, topics, 2) == ()
    assert grow_topics(admin, topics, 7) == (topics.controller, topics.query)
    failures: list[object] = []
    producer = make_producer(kafka)
    producer.produce(topics.controller, b"x", partition=7, on_delivery=lambda error, _: failures.append(error))
    assert producer.flush(30) == 0
    assert failures == [None]


def test_concurrent_creation_and_growth_of_a_topic_succeed(admin: Admin, prefix: str) -> None:
    assert admin.create_topic(prefix, 1) is True
    assert admin.create_topic(prefix, 1) is False
    wait_until_shown(admin, {prefix: 1})
    assert admin.grow_topic(prefix, 3) is True
    wait_until_shown(admin, {prefix: 3})
    assert admin.grow_topic(prefix, 3) is False
