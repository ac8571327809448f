"""kill -9 of a consumer: others read its partitions before it is back, and every record is stored once."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable
from tests.support.live_groups import Eventually, Group, LiveGroup
from tests.support.spark.project import QUICK

from restow.controller.events import Received
from restow.kafka.admin import Admin
from restow.model import SortedMapping, TopicPartition
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.messages.consumer_events import ConsumerReady, StartConsumingEvent
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.messages.unions import FromConsumer
from restow.settings import Kafka


class SparkGroup(LiveGroup):
    """Its consumers run Spark and write a Delta table."""

    consumer = 'pipeline = "spark"'
    patience_s = 240.0

    def where(self) -> str:
        return f"{super().where()}\n[spark]\n{QUICK}\n"

    def stored(self) -> list[str]:
        if not DeltaTable.is_deltatable(str(self.table)):
            return []
        values = DeltaTable(str(self.table)).to_pyarrow_table(columns=["value"]).column("value").to_pylist()
        return [bytes(value).decode() for value in values]


@pytest.fixture
def spark_group(kafka: Kafka, admin: Admin, prefix: str, tmp_path: Path, eventually: Eventually) -> Iterator[Group]:
    group = SparkGroup(kafka, admin, prefix, tmp_path, eventually)
    yield group
    group.end()


def said(group: LiveGroup) -> list[FromConsumer]:
    """What consumers said to the controller, in order."""
    events = [entry.event for entry in group._logged()]
    return [record.message for event in events if isinstance(event, Received) for record in event.heard]


class Gate:
    """Consumers that start while it is closed wait at their first line. On an idle machine a light consumer would be
    back before the others have taken over."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self._closed = directory / "closed"
        waits = f"from pathlib import Path\nimport time\nwhile Path({str(self._closed)!r}).exists(): time.sleep(0.02)\n"
        (directory / "sitecustomize.py").write_text(waits)
        path = os.pathsep.join(filter(None, (str(directory), os.environ.get("PYTHONPATH"))))
        self.env = SortedMapping({"PYTHONPATH": path})

    def close(self) -> None:
        self._closed.touch()

    def open(self) -> None:
        self._closed.unlink()


def kill_one(group: LiveGroup) -> None:
    """Two consumers, of which each could carry everything; one of them is killed."""
    gate = Gate(group.directory / "gate")
    group.update(ServiceUpdate("consumers", consumers=ConsumerSettings(env=gate.env, least_consumers=2)))
    orders = group.topic("orders", 4)
    group.produce(orders)
    group.measure(dict.fromkeys(orders, 0.4))
    group.start_controller()
    group.settle(orders, consumers=2)
    group.measure(dict.fromkeys(orders, 0.2))
    group.eventually(lambda: len(group.stored()) == len(group.produced), within_s=group.patience_s)
    [killed, other] = group.running()
    group.eventually(lambda: {each.consumer for each in said(group) if _will_claim(each)} == {killed, other})
    before, held = len(said(group)), frozenset(group.saved()[killed])
    gate.close()
    os.kill(group.running()[killed], signal.SIGKILL)
    killed_s = time.monotonic()
    group.produce(orders)
    group.eventually(lambda: len(group.stored()) == len(group.produced), within_s=group.patience_s)
    gate.open()
    print(f"all is stored {time.monotonic() - killed_s:.1f} s after the kill")
    assert_taken_over(group, killed, other, held, before)
    group.produce(orders)
    group.audit()


def assert_taken_over(group: LiveGroup, killed: int, other: int, held: frozenset[TopicPartition], before: int) -> None:
    """The other one had them before the killed one was back, which claimed them and did not get them."""

    def claims() -> list[int]:
        each = enumerate(said(group)[before:])
        return [place for place, message in each if isinstance(message, ConsumerReady) and message.consumer == killed]

    group.eventually(claims, within_s=group.patience_s)
    messages = said(group)[before:]
    started = [
        (place, message.consumer)
        for place, message in enumerate(messages)
        if isinstance(message, StartConsumingEvent) and not held.isdisjoint(message.partitions)
    ]
    back = messages[claims()[0]]
    assert isinstance(back, ConsumerReady)
    assert (back.partitions, frozenset(back.claims)) == ((), held)
    assert started[0][1] == other
    assert started[0][0] < claims()[0], "it was taken over before the killed one was back"
    group.eventually(lambda: held <= frozenset(group.saved().get(other, ())))


def _will_claim(message: FromConsumer) -> bool:
    return isinstance(message, ConsumerReport) and message.will_claim


def test_a_light_consumer_is_killed(group: LiveGroup) -> None:
    kill_one(group)


@pytest.mark.slow
def test_a_spark_consumer_is_killed(spark_group: SparkGroup) -> None:
    kill_one(spark_group)


def test_a_group_without_a_controller_heals(group: LiveGroup) -> None:
    orders = group.topic("orders", 2)
    group.produce(orders)
    group.measure(dict.fromkeys(orders, 0.1))
    controller = group.start_controller()
    group.settle(orders, consumers=1)
    group.eventually(lambda: any(_will_claim(each) for each in said(group)))
    controller.kill()
    controller.wait(30)
    [number], [process] = group.running().keys(), group.running().values()
    os.kill(process, signal.SIGKILL)
    group.produce(orders)
    group.eventually(lambda: len(group.stored()) == len(group.produced), within_s=group.patience_s)
    assert "claims" in (group.volume(number) / "consumer.log").read_text()
    group.start_controller()
    group.settle(orders, consumers=1)
    group.audit()
