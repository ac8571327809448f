"""The Spark pipeline and a table in a real S3 server: a killed consumer, a commit that outlives it, lost answers."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable
from tests.support.delta.lake import on_disk
from tests.support.door import Fault
from tests.support.s3.store import SECRET, ObjectStore, StoreDoor, environment, is_commit
from tests.support.spark.crashes import SparkGroup
from tests.support.spark.crashing import FILES_WRITTEN
from tests.support.spark.live import Lake, of, reading
from tests.support.spark.project import rows_of

from restow.kafka.admin import Admin
from restow.model import SortedMapping, TopicPartition
from restow.pipeline.delta import objects, stores
from restow.pipeline.spark.check import SparkTrial
from restow.protocol.topic_service import TopicService
from restow.settings import Group, Kafka, Settings

pytestmark = pytest.mark.spark

Eventually = Callable[..., None]
SCHEMA = '{"type": "object", "properties": {"id": {"type": "string"}, "country": {"type": "string"}}}'


class StoreGroup(SparkGroup):
    """Its table is in the store, and its consumers come through the door."""

    port: int

    def environment(self, number: int) -> dict[str, str]:
        return {**super().environment(number), **environment(self.port)}


@pytest.fixture
def group(
    kafka: Kafka,
    admin: Admin,
    prefix: str,
    tmp_path: Path,
    eventually: Eventually,
    object_store: ObjectStore,
    door: StoreDoor,
) -> Iterator[StoreGroup]:
    group = StoreGroup(kafka, admin, prefix, tmp_path, lambda condition: eventually(condition, within_s=240.0))
    uri = f"s3://{object_store.bucket()}/lake/orders"
    group.port, group.lake, group.service = door.port, object_store.path(uri), TopicService(table=uri)
    yield group
    group.close()


def test_a_consumer_killed_while_it_writes_to_a_store_loses_and_doubles_nothing(
    group: StoreGroup, door: StoreDoor
) -> None:
    group.arm(1, FILES_WRITTEN)
    group.produce(5)
    process, _ = group.ready(1)
    group.start_all(1, *group.partitions)
    assert group.has_ended(process, 1) == -signal.SIGKILL
    assert (group.is_planned(1), len(group.left_behind()), group.count()) == (True, 1, 0)

    process, _ = group.ready(1)
    assert group.left_behind() == set(), "half-done work is removed before it is ready"
    group.eventually(group.all_are_stored)
    stored = group.count()
    door.faults.append(Fault(is_commit, times=1, before=process.kill))
    group.produce(5)
    assert group.has_ended(process, 1) == -signal.SIGKILL
    group.eventually(lambda: group.count() > stored)  # by a commit that was on its way when its consumer was killed

    process, _ = group.ready(1)
    lost = Fault(is_commit, times=3, code=503, passed_on=True)
    door.faults += [lost, door.throttle(3, lambda request: request.path.endswith(".parquet"))]
    group.produce(5)
    group.audit()
    assert lost.times < 3, "an answer was lost"
    process.terminate()
    assert process.wait(30) == 0, group.log(1)
    group.audit()
    assert group.left_behind() == set()
    interrupted = [line for line in group.log(1).splitlines() if "interrupted cycle" in line]
    assert [line.rpartition(f" for the table {group.service.table} ")[2] for line in interrupted] == [
        "was not stored, and its files are removed",
        "was stored",
    ]
    assert SECRET not in group.log(1)


@pytest.mark.usefixtures("door")
def test_partitions_static_tables_and_checks_of_a_store(lake: Lake, object_store: ObjectStore, tmp_path: Path) -> None:
    """Rows are partitioned by values that names of directories and objects must escape, and joined from a store."""
    bucket, topic = f"s3://{object_store.bucket()}", lake.topic("data", 1)
    (tmp_path / "schema.json").write_text(SCHEMA)
    parsing = {"format": "json", "schema": str(tmp_path / "schema.json")}
    names = TopicService(table=f"{bucket}/names", partition_by=("country",), **parsing)  # type: ignore[arg-type]
    [partition] = of(topic, 0)
    lake.produce(topic, [f'{{"id": "{n}", "country": "{place}"}}' for n, place in enumerate(["AT", "A B/ü%", "AT"])])
    reading(lake.pipeline(), {topic: names}, {partition: 0}).until(3)
    table = object_store.path(f"{bucket}/names")
    assert len(on_disk(table)) == len(DeltaTable(table).file_uris()) == 2

    joined = TopicService(
        table=f"{bucket}/joined",
        transform="transforms_on_spark:countries",
        options=SortedMapping({"names": f"{bucket}/names"}),
        **parsing,  # type: ignore[arg-type]
    )
    trial = SparkTrial(Settings(lake.kafka, group=Group(lake.prefix)))
    assert trial.table(joined, (partition,), None) == (
        f"{bucket}/joined doesn't exist and will be created, in a store with conditional puts"
    )
    reading(lake.pipeline(), {topic: joined}, {partition: 0}).until(3)
    found = rows_of(object_store.path(f"{bucket}/joined"), "id, of")
    assert sorted(found) == [("0", "AT"), ("1", "A B/ü%"), ("2", "AT")]


def test_a_store_that_is_down_is_named_and_used_again_when_it_is_back(
    lake: Lake, object_store: ObjectStore, door: StoreDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "RETRY_WITHIN_S", 1)
    monkeypatch.setattr(objects, "RETRY_WITHIN_S", 1)
    uri, topic = f"s3://{object_store.bucket()}/orders", lake.topic("data", 1)
    partition = TopicPartition(topic, 0)
    reader = reading(lake.pipeline(), {topic: TopicService(table=uri)}, {partition: 0})
    shut = door.throttle(10_000)
    lake.write(topic, {0: 5})
    [failure] = reader.cycle().failures
    assert failure.reason.startswith(f"the table {uri} can't be written: ")
    assert "SlowDown, Please reduce your request rate." in failure.reason
    shut.times = 0
    reader.until(5)
    assert rows_of(object_store.path(uri), "_offset") == [(offset,) for offset in range(5)]
