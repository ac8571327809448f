"""The admin client on a real cluster."""

from collections.abc import Callable

import pytest

from restow.kafka.admin import Admin
from restow.kafka.clients import make_producer
from restow.kafka.errors import NoAnswer, RequestRefused
from restow.kafka.topics import wait_until_shown
from restow.model import TopicPartition
from restow.settings import Kafka

Eventually = Callable[[Callable[[], object]], None]


@pytest.fixture
def written(kafka: Kafka, admin: Admin, prefix: str) -> str:
    """A topic of two partitions, with three records of 1,000 bytes in the first."""
    admin.create_topic(prefix, 2)
    wait_until_shown(admin, {prefix: 2})
    producer = make_producer(kafka)
    for _ in range(3):
        producer.produce(prefix, b"x" * 1000, partition=0)
    assert producer.flush(30) == 0
    return prefix


def test_a_topic_is_shown_with_a_leader_for_each_partition(admin: Admin, written: str) -> None:
    cluster = admin.cluster()
    assert cluster.nodes == (1,)
    assert cluster.leaders[written] == (1, 1)
    assert cluster.partitions_of([written, "nowhere"]) == [TopicPartition(written, 0), TopicPartition(written, 1)]


def test_offsets_are_those_of_the_log_and_missing_partitions_are_left_out(admin: Admin, written: str) -> None:
    full, empty, nowhere = TopicPartition(written, 0), TopicPartition(written, 1), TopicPartition("nowhere", 0)
    assert admin.end_offsets([full, empty, nowhere]) == {full: 3, empty: 0}
    assert admin.start_offsets([full, empty]) == {full: 0, empty: 0}
    assert admin.end_offsets([]) == {}


def test_the_last_stable_offset_waits_for_open_transactions(
    kafka: Kafka, admin: Admin, written: str, eventually: Eventually
) -> None:
    partition = TopicPartition(written, 0)
    assert admin.stable_offsets([partition, TopicPartition("nowhere", 0)]) == {partition: 3}
    producer = make_producer(kafka, {"transactional.id": written})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(written, b"x", partition=0)
    producer.flush(60)
    assert (admin.end_offsets([partition]), admin.stable_offsets([partition])) == ({partition: 4}, {partition: 3})
    producer.commit_transaction(60)
    # The brokers answer a commit before its marker is in the log.
    eventually(lambda: admin.stable_offsets([partition]) == {partition: 5})


def test_a_topic_that_was_missing_is_seen_as_soon_as_it_exists(
    kafka: Kafka, admin: Admin, prefix: str, eventually: Eventually
) -> None:
    partition = TopicPartition(prefix, 0)
    with Admin(kafka) as asking:
        for _ in range(100):
            assert asking.end_offsets([partition]) == {}
        admin.create_topic(prefix, 1)
        eventually(lambda: admin.end_offsets([partition]) == {partition: 0})
        assert asking.end_offsets([partition]) == {partition: 0}


def test_asking_for_a_topic_does_not_create_it(admin: Admin, prefix: str) -> None:
    admin.end_offsets([TopicPartition(prefix, 0)])
    assert prefix not in admin.cluster().leaders


@pytest.mark.parametrize("policy", ["delete", "compact", "compact,delete"])
def test_a_cleanup_policy_is_read(admin: Admin, prefix: str, policy: str) -> None:
    admin.create_topic(prefix, 1, settings={"cleanup.policy": policy})
    wait_until_shown(admin, {prefix: 1})
    found = admin.cleanup_policies([prefix, "nowhere"])
    assert found[prefix] == policy
    assert str(found["nowhere"]) == "can't read the configuration of nowhere: there is no such topic"
    assert admin.cleanup_policies([]) == {}


def test_sizes_are_bytes_on_disk(admin: Admin, written: str) -> None:
    sizes = admin.log_sizes(1, [written])
    assert set(sizes) == {TopicPartition(written, 0), TopicPartition(written, 1)}
    assert 3000 < sizes[TopicPartition(written, 0)] < 3500
    assert sizes[TopicPartition(written, 1)] == 0
    assert sizes.items() <= admin.log_sizes(1).items()


def test_a_recreated_topic_has_a_new_id(admin: Admin, written: str, eventually: Eventually) -> None:
    before = admin.topic_ids([written, "nowhere"])
    assert set(before) == {written}
    assert admin.delete_topic(written) is True
    eventually(lambda: written not in admin.cluster().leaders)
    assert admin.delete_topic(written) is False
    assert admin.create_topic(written, 1) is True
    wait_until_shown(admin, {written: 1})
    assert admin.topic_ids([written])[written] != before[written]


def test_a_cluster_that_does_not_answer_is_an_error() -> None:
    with Admin(Kafka("127.0.0.1:1"), answer_within_s=0.3) as admin:
        with pytest.raises(NoAnswer, match=r"^can't list the topics: 127.0.0.1:1 doesn't answer \("):
            admin.cluster()
        with pytest.raises(NoAnswer, match=r"^can't read offsets: 127.0.0.1:1 doesn't answer \("):
            admin.end_offsets([TopicPartition("orders", 0)])


def test_log_sizes_of_a_missing_node_are_an_error(admin: Admin) -> None:
    with pytest.raises(NoAnswer, match=r"^can't read the sizes of node 9's logs: it doesn't answer"):
        admin.log_sizes(9)
    assert admin.log_sizes(1)


def test_a_refusal_has_kafkas_own_words(admin: Admin, prefix: str) -> None:
    with pytest.raises(RequestRefused, match=f"^can't create the topic {prefix}: .*replication factor"):
        admin.create_topic(prefix, 1, replication_factor=3)
