"""Three nodes: a leader that moves, a node that stops, dies and comes back."""

from collections.abc import Callable, Iterator

import pytest

from restow.kafka.admin import NO_LEADER, Admin
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.kafka.topics import wait_until_shown
from restow.model import TopicPartition
from restow.settings import Kafka

pytestmark = pytest.mark.kafka

Eventually = Callable[[Callable[[], object]], None]
Write = Callable[..., None]
Read = Callable[[Kafka, str, int], list[str]]


@pytest.fixture(scope="module")
def three() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(3) as broker:
        yield broker


def test_the_leader_moves_when_its_node_stops_and_nothing_is_lost(
    three: EmbeddedKafka, prefix: str, write: Write, read: Read, eventually: Eventually
) -> None:
    kafka = Kafka(three.bootstrap)
    with Admin(kafka) as admin:
        admin.create_topic(prefix, 1, replication_factor=3)
        wait_until_shown(admin, {prefix: 1})
        write(kafka, prefix, "before")
        [leader] = admin.cluster().leaders[prefix]

        three.stop_node(leader)
        eventually(lambda: admin.cluster().leaders.get(prefix, (leader,))[0] not in (leader, NO_LEADER))
        write(kafka, prefix, "while it is away")
        eventually(lambda: admin.cluster().nodes == tuple({1, 2, 3} - {leader}))

        three.start_node(leader)
        eventually(lambda: admin.cluster().nodes == (1, 2, 3))
        assert read(kafka, prefix, 2) == ["before", "while it is away"]
        partition = TopicPartition(prefix, 0)
        eventually(lambda: len({admin.log_sizes(node, [prefix])[partition] for node in (1, 2, 3)}) == 1)


def test_a_node_that_is_killed_comes_back(three: EmbeddedKafka, eventually: Eventually) -> None:
    three.kill_node(2)
    three.check()
    three.start_node(2)
    with Admin(Kafka(three.bootstrap)) as admin:
        eventually(lambda: admin.cluster().nodes == (1, 2, 3))
