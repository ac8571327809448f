"""`restow init` with a real broker: what it finds, proposes and writes passes `restow check`."""

import json
import os
import sys
from pathlib import Path

import pytest

from restow.cli.main import main
from restow.kafka.admin import Admin
from restow.kafka.clients import make_producer
from restow.kafka.topics import wait_until_shown
from restow.settings import Kafka, read_settings


def test_what_it_writes_passes_the_check(
    kafka: Kafka,
    admin: Admin,
    prefix: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    orders, logs = f"{prefix}.orders", f"{prefix}-logs"
    admin.create_topic(orders, 3)
    admin.create_topic(logs, 1)
    wait_until_shown(admin, {orders: 3, logs: 1})
    producer = make_producer(kafka)
    for number in range(30):
        producer.produce(orders, json.dumps({"id": number, "name": "x" * 100}), partition=number % 3)
    producer.produce(logs, "plain")
    assert producer.flush(60) == 0
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))  # `restow check` extends it
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.delitem(sys.modules, "transforms", raising=False)

    options = ("--bootstrap", kafka.bootstrap, "--group", prefix, "--dir", str(tmp_path), "--for", "0.1s", "--light")
    assert main(["init", *options, "--topics", f"{orders},{logs}"]) == 0
    shown = capsys.readouterr().out
    [row] = [line.split() for line in shown.splitlines() if line.strip().startswith(orders)]
    assert row[1:3] == ["3", "30"]
    assert row[-3:] == ["JSON,", "2", "columns"]
    assert "wrote " in shown
    text = (tmp_path / "restow.toml").read_text()
    assert "# when this was written: 3 partitions, 30 records, " in text
    assert list(read_settings(text, "restow.toml", {}).consume) == [logs, orders]

    assert main(["check", "--config", str(tmp_path / "restow.toml")]) == 0, capsys.readouterr().out
    lines = capsys.readouterr().out
    columns = "topic, partition, offset, timestamp_ms, key, value"
    assert f'right    [consume."{orders}"] transform: 30 records became 30 rows of {columns}' in lines
    monkeypatch.delitem(sys.modules, "transforms", raising=False)

    assert main(["init", *options, "--force", "--topics", f"{orders},{prefix}-none"]) == 2
    assert f"--topics: there is no {prefix}-none on {kafka.bootstrap}" in capsys.readouterr().err


def test_a_group_that_exists_is_mentioned(
    kafka: Kafka, admin: Admin, prefix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    admin.create_topic(prefix, 1)
    admin.create_topic(f"{prefix}-controller", 1)
    wait_until_shown(admin, {prefix: 1, f"{prefix}-controller": 1})
    options = ("--bootstrap", kafka.bootstrap, "--group", prefix, "--dir", str(tmp_path), "--for", "0.1s")
    assert main(["init", *options, "--topics", prefix]) == 0
    printed = capsys.readouterr()
    assert f"has topics of a group {prefix}; this would be the same group, and continue it" in printed.err
    assert "no records" in printed.out
