"""The wheel in a clean virtual environment: what is in it, its commands; it runs Kafka, Spark and a group, and prepares
itself on first use.

The jars come from this machine's cache, so that no network is needed.
"""

import json
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.support.paths import ROOT
from tests.support.wheel import WITHIN_S, Installation, build_wheel

from restow import __version__
from restow.java.jars import KAFKA, fetch
from restow.kafka.admin import Admin
from restow.kafka.clients import make_producer
from restow.kafka.embedded.ports import choose_ports
from restow.kafka.topics import wait_until_shown
from restow.pipeline.spark.jars import CONNECTOR
from restow.settings import Kafka

Eventually = Callable[..., None]

TOPIC: Final = "orders"
RECORDS: Final = 30
SETTINGS: Final = """\
[kafka]
bootstrap = "{bootstrap}"
[group]
name = "{group}"
[consumer]
pipeline = "{pipeline}"
memory_mb = 1024
[consume.orders]
table = "{table}"
{transform}
[spark]
"spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1"
"""
TRANSFORM: Final = """\
from pyspark.sql import DataFrame, functions as F


def orders(records: DataFrame) -> DataFrame:
    order = F.from_json(F.col("value").cast("string"), "id int")
    return records.select(order.alias("order")).select("order.id")
"""
HELPS: Final = """\
import sys
from restow.cli import main
codes = []
for command in sys.argv[1:]:
    try:
        main([command, "--help"])
    except SystemExit as end:
        codes.append(end.code)
print(f"helped {codes.count(0)} times")
"""
"""In one process: forty would take a minute."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return Installation(tmp_path_factory.mktemp("machine"), wheel)


@pytest.fixture(scope="module")
def kafka(installed: Installation, tmp_path_factory: pytest.TempPathFactory, eventually: Eventually) -> Iterator[Kafka]:
    """`restow broker` of the installed wheel, with records on a topic."""
    installed.cache.joinpath("jars").mkdir(parents=True)
    for bundle in (KAFKA, CONNECTOR):
        jars = fetch(bundle)
        (installed.cache / "jars" / jars.name).symlink_to(jars)
    directory = tmp_path_factory.mktemp("broker")
    [port] = choose_ports(1)
    process = installed.serve("restow", "broker", "--port", str(port), within=directory)
    try:
        log = directory / "broker.log"
        eventually(lambda: "bootstrap" in log.read_text() or process.poll() is not None, within_s=WITHIN_S)
        assert process.poll() is None, log.read_text()
        kafka = Kafka(f"127.0.0.1:{port}")
        with Admin(kafka) as admin:
            admin.create_topic(TOPIC, 2)
            wait_until_shown(admin, {TOPIC: 2})
        producer = make_producer(kafka)
        for number in range(RECORDS):
            producer.produce(TOPIC, json.dumps({"id": number}).encode(), partition=number % 2)
        assert producer.flush(30) == 0
        yield kafka
    finally:
        process.terminate()
        process.wait(60)


@pytest.mark.slow
def test_the_wheel_has_every_module_its_data_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    source = ROOT / "src"
    wanted = {str(file.relative_to(source)) for file in source.rglob("*.py")}
    wanted |= {"restow/py.typed", "restow/pipeline/spark/log4j2.properties"}
    wanted |= {f"restow/page/static/{file.name}" for file in (source / "restow/page/static").iterdir()}
    assert {name for name in names if ".dist-info/" not in name} == wanted


@pytest.mark.slow
def test_it_runs_from_its_own_files_and_knows_every_command(installed: Installation, tmp_path: Path) -> None:
    code = "import restow; print(restow.__file__)"
    assert installed.run("python", "-c", code, within=tmp_path).stdout.startswith(str(installed.packages))
    assert installed.run("restow", "--version", within=tmp_path).stdout == f"restow {__version__}\n"
    listed = installed.run("restow", "--help", within=tmp_path).stdout
    commands = re.findall(r"^    ([a-z]+)\b", listed, re.MULTILINE)
    assert {"demo", "check", "consume", "monitor", "controller", "down"} <= set(commands)
    helped = installed.run("python", "-c", HELPS, *commands, within=tmp_path)
    assert (helped.stdout.splitlines()[-1], helped.stderr) == (f"helped {len(commands)} times", "")


def write_settings(directory: Path, kafka: Kafka, pipeline: str, table: str, transform: str = "") -> None:
    text = SETTINGS.format(
        bootstrap=kafka.bootstrap, group=f"wheel-{pipeline}", pipeline=pipeline, table=table, transform=transform
    )
    (directory / "restow.toml").write_text(text)


@pytest.mark.kafka
@pytest.mark.spark
def test_check_and_consume_run_spark_and_archive_its_classes_on_first_use(
    installed: Installation, kafka: Kafka, tmp_path: Path
) -> None:
    write_settings(tmp_path, kafka, "spark", "lake/orders", 'transform = "shop:orders"')
    (tmp_path / "shop.py").write_text(TRANSFORM)
    first = installed.run("restow", "check", within=tmp_path)
    assert first.returncode == 0, first.stdout + first.stderr
    assert f"{RECORDS} records became {RECORDS} rows of id" in first.stdout
    assert "archiving Spark's classes once" in first.stderr
    assert len(list((installed.cache / "classes").glob("*.jsa"))) == 1

    second = installed.run("restow", "consume", "--topics", TOPIC, "--once", "--json", within=tmp_path)
    assert second.returncode == 0, second.stderr
    assert json.loads(second.stdout) == {"records": RECORDS, "missed_records": 0, "whole": True}
    assert "archiving" not in second.stderr


@pytest.mark.kafka
def test_a_group_runs_from_it_and_compiles_the_packer_on_first_use(
    installed: Installation, kafka: Kafka, tmp_path: Path, eventually: Eventually
) -> None:
    write_settings(tmp_path, kafka, "light", "rows.db")
    roles = [installed.serve("restow", role, within=tmp_path) for role in ("monitor", "controller")]
    log = tmp_path / "controller.log"
    try:
        eventually(lambda: "compiling the packer" in log.read_text(), within_s=WITHIN_S)
        roles[1].terminate()
        assert roles[1].wait(WITHIN_S) == 0, "it ends while it compiles"
        assert "stopped before it was prepared" in log.read_text()
        roles[1] = installed.serve("restow", "controller", within=tmp_path)
        eventually(lambda: "consumer 1: ready" in log.read_text(), within_s=WITHIN_S)
    finally:
        down = installed.run("restow", "down", within=tmp_path)
        for role in roles:
            role.terminate()
    assert down.returncode == 0, down.stderr
    assert [line.split(" (")[0] for line in down.stdout.splitlines()] == [
        "ended monitor",
        "ended controller",
        "ended wheel-light-consumer-1",
    ]
    assert [role.wait(60) for role in roles] == [0, 0]
