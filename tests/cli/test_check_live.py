"""`restow check` with a real broker, for light consumers: topics, rights, records and tables."""

import os
import sys
from pathlib import Path

import pytest
from tests.support.paths import line_in

from restow.cli.main import main
from restow.kafka.admin import Admin
from restow.kafka.clients import make_producer
from restow.kafka.topics import wait_until_shown
from restow.settings import Kafka

SHOP = """\
def even(records):
    return [record for record in records if int(record.value) % 2 == 0]


def strict(records):
    for record in records:
        if record.value == b"27":
            raise ValueError("a twenty-seven")
        yield record
"""


@pytest.fixture
def file(kafka: Kafka, admin: Admin, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    admin.create_topic(prefix, 2)
    wait_until_shown(admin, {prefix: 2})
    producer = make_producer(kafka, {"acks": "all"})
    for number in range(30):
        producer.produce(prefix, str(number), partition=1)
    assert producer.flush(30) == 0
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))  # the command extends it
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "live_shop", raising=False)
    (tmp_path / "live_shop.py").write_text(SHOP)
    return tmp_path / "restow.toml"


def checked(
    file: Path, kafka: Kafka, group: str, text: str, capsys: pytest.CaptureFixture[str]
) -> tuple[int, list[str]]:
    head = f'[kafka]\nbootstrap = "{kafka.bootstrap}"\n[group]\nname = "{group}"\n[consumer]\npipeline = "light"\n'
    file.write_text(head + text)
    code = main(["check", "--config", str(file)])
    return code, capsys.readouterr().out.splitlines()


def test_a_group_that_will_work_is_right(
    file: Path, kafka: Kafka, prefix: str, admin: Admin, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f'[consume.{prefix}]\ntable = "lake/even.db"\ntransform = "live_shop:even"\n'
    code, lines = checked(file, kafka, prefix, text, capsys)
    names = ", ".join(f"{prefix}-{channel}" for channel in ("monitor", "controller", "query", "service"))
    assert code == 0, lines
    assert lines[0] == f"right    {file}"
    assert lines[1] == f"right    brokers: {kafka.bootstrap} answers, 1 broker"
    assert lines[2].startswith(f"right    topics of restow: {names}")
    assert lines[2].endswith(" will be created by the first role that starts")
    assert lines[3:] == [
        f"right    group: {prefix} has no offsets yet",
        f"right    [consume.{prefix}] topic: {prefix} has 2 partitions",
        (
            f"right    [consume.{prefix}] transform: 20 records became 10 rows of topic, partition, offset, "
            "timestamp_ms, key, value"
        ),
        f"right    [consume.{prefix}] table: {file.parent}/lake/even.db doesn't exist and will be created",
    ]
    assert not (file.parent / "lake").exists()
    assert f"{prefix}-monitor" not in admin.cluster().leaders, "it changes nothing"


def test_a_record_on_which_the_transform_fails_a_missing_topic_and_too_few_brokers_are_wrong(
    file: Path, kafka: Kafka, prefix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        f'[topics]\nreplication_factor = 3\n[consume.{prefix}]\ntransform = "live_shop:strict"\n[consume.{prefix}-no]\n'
    )
    code, lines = checked(file, kafka, prefix, text, capsys)
    wrong = [line.removeprefix("wrong    ") for line in lines if line.startswith("wrong")]
    assert code == 1
    assert len(wrong) == 3, lines
    assert wrong[0].startswith(f"topics of restow: can't create the topic {prefix}-monitor: ")
    assert "replication factor" in wrong[0].lower()
    assert wrong[1:] == [
        (
            f"[consume.{prefix}] transform: the transform live_shop:strict fails on {prefix}-1 at offset 27: "
            f"ValueError: a twenty-seven ({line_in(file.parent / 'live_shop.py', 'a twenty-seven')}, in strict)"
        ),
        (
            f"[consume.{prefix}-no] topic: there is no topic {prefix}-no on {kafka.bootstrap}, or the right Describe "
            "on it is missing; create it, or correct the name"
        ),
    ]
