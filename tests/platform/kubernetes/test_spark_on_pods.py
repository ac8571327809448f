"""Spark in a pod with a read-only root file system: it writes to its volume, its scratch space and the lake only.

Monitor, controller and consumer run as `restow manifests` prints them.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import duckdb
import pytest
from deltalake import DeltaTable
from lightkube import Client
from tests.support.kubernetes.cluster.control_plane import ControlPlane
from tests.support.kubernetes.cluster.node import Node
from tests.support.kubernetes.groups import Place, PodGroup, container, ended
from tests.support.live_groups import Eventually
from tests.support.spark.project import QUICK

from restow.kafka.admin import Admin
from restow.settings import Kafka

pytestmark = pytest.mark.spark


class SparkPodGroup(PodGroup):
    consumer = f'pipeline = "spark"\nimage = "{Node.restow}"\ncores = 2'
    capacity = 1e6
    """So high that one consumer is enough for a handful of records."""
    grace_s = 60.0
    is_measured = True

    def where(self) -> str:
        return f"{super().where()}[spark]\n{QUICK}\n"

    def stored(self) -> list[str]:
        files = DeltaTable(self.table).file_uris() if DeltaTable.is_deltatable(str(self.table)) else []
        if not files:
            return []
        with duckdb.connect() as engine:
            rows = engine.execute("SELECT decode(value) FROM read_parquet($files)", {"files": files}).fetchall()
        return [value for (value,) in rows]


@pytest.fixture
def group(
    control_plane: ControlPlane,
    node: Node,
    namespace: str,
    client: Client,
    kafka: Kafka,
    admin: Admin,
    prefix: str,
    tmp_path: Path,
    eventually: Eventually,
) -> Iterator[SparkPodGroup]:
    place = Place(control_plane, node, namespace, client)
    group = SparkPodGroup(place, kafka, admin, prefix, tmp_path, eventually)
    yield group
    group.end()


def test_a_consumer_on_spark_stores_everything_once_and_ends_cleanly_when_its_pod_is_deleted(
    group: SparkPodGroup, node: Node
) -> None:
    orders = group.topic("orders", 2)
    group.produce(orders)
    group.apply()
    group.settle(orders, consumers=1)
    group.produce(orders)
    group.audit()
    processes = node.processes(group.pod(1), "consumer")
    assert {program(process): user(process) for process in processes} == {"restow": node.user, "java": node.user}
    assert is_root_read_only(processes[0])
    scratch = node.empty_dir(group.pod(1), "scratch") / f"{group.name}-consumer-1"
    assert list(scratch.glob("spark-*")), "Spark's temporary files are where the next start removes them"
    for component in ("monitor", "controller", "consumer"):
        group.wait_until(partial(is_ready, group, component))
    group.hold_pods(1)
    group.produce(orders)
    [log] = group.consumer_logs()
    with log.open() as lines:  # opened now: the kubelet may delete the log of a pod that has ended
        group.delete(f"{group.name}-controller")  # or it would recreate the consumer
        group.wait_until(partial(group.is_gone, "controller"))
        group.delete(f"{group.name}-consumer-1")
        group.wait_until(lambda: ended(group.pod(1)) is not None)
        text = lines.read()
    assert ended(group.pod(1)) == 0, text
    assert group.is_clean(1)
    assert "ended: everything is stored and reported" in text


def is_ready(group: PodGroup, component: str) -> bool:
    return [container(pod).ready for pod in group.pods(component)] == [True]


def program(process: int) -> str:
    return Path(f"/proc/{process}/comm").read_text().strip()


def user(process: int) -> int:
    return Path(f"/proc/{process}").stat().st_uid


def is_root_read_only(process: int) -> bool:
    """Whether its root file system is mounted read-only."""
    mounts = [line.split() for line in Path(f"/proc/{process}/mounts").read_text().splitlines()]
    [options] = [options for _, place, _, options, *_ in mounts if place == "/"]
    return "ro" in options.split(",")
