"""`restow rejected list`, `count` and `show`, of Delta tables and of a light consumer's file. retry is in
tests/pipeline/spark/test_rejects.py."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from restow.cli.main import main
from restow.kafka.reading import Record
from restow.model import TopicPartition
from restow.pipeline.light.table import LightTable, PartitionRows

SETTINGS = """\
[kafka]
bootstrap = "localhost:1"
[group]
name = "shop"
[consumer]
pipeline = "{pipeline}"
[consume.orders]
table = "{table}"
[consume.clicks]
table = "lake/clicks"
"""
EARLY, LATE = datetime(2026, 3, 1, 3, 0, tzinfo=UTC), datetime(2026, 3, 1, 5, 0, tzinfo=UTC)


def delta_letters(directory: Path) -> None:
    """Three records, of which one was retried, and one of another group."""
    names = ("state", "consumer_group", "topic", "partition", "offset", "value", "error", "at")
    rows = [
        ("rejected", "shop", "orders", 3, 17, b"seven", "ValueError: a seven", EARLY),
        ("rejected", "shop", "orders", 3, 18, b"\xff", "ValueError: a seven", LATE),
        ("rejected", "shop", "orders", 0, 4, b"done", "ValueError: mended", EARLY),
        ("stored", "shop", "orders", 0, 4, None, None, LATE),
        ("rejected", "other", "orders", 1, 1, b"theirs", "theirs", EARLY),
    ]
    columns = {name: [row[number] for row in rows] for number, name in enumerate(names)}
    table = pa.table(columns)
    nothing = pa.nulls(len(rows), pa.binary())
    table = table.append_column("key", nothing).append_column("code", pa.nulls(len(rows), pa.string()))
    table = table.append_column("timestamp", pa.nulls(len(rows), pa.timestamp("us", "UTC")))
    headers = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    table = table.append_column("headers", pa.array([[{"key": "h", "value": b"1"}]] + [None] * 4, headers))
    write_deltalake(str(directory / "lake" / "orders_rejected"), table)


def light_letters(directory: Path) -> None:
    table = LightTable(str(directory / "lake" / "orders.db"), "shop")
    place = TopicPartition("orders", 3)
    table.begin({place: 17})
    bad = [(Record(*place, 17, None, None, b"seven"), "ValueError: a seven")]
    table.write({place: PartitionRows(17, 18, (), tuple(bad))})
    table.close()


@pytest.fixture
def config(tmp_path: Path) -> Path:
    delta_letters(tmp_path)
    config = tmp_path / "restow.toml"
    config.write_text(SETTINGS.format(pipeline="spark", table="lake/orders"))
    return config


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["rejected", *arguments])
    return code, capsys.readouterr().out


def test_rejected_records_that_were_not_retried_are_listed_and_counted(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = run(capsys, "list", "--config", str(config), "--json")
    assert (code, [(each["partition"], each["offset"]) for each in json.loads(out)]) == (0, [(3, 17), (3, 18)])
    _, out = run(capsys, "list", "--config", str(config), "--since", "2026-03-01T04:00", "--topic", "orders")
    assert out.splitlines()[-1] == "1 rejected record"
    assert "18" in out
    _, out = run(capsys, "count", "--config", str(config), "--json")
    counts = {"topic": "orders", "table": "lake/orders", "error": "ValueError: a seven", "records": 2}
    assert json.loads(out) == [counts]
    _, out = run(capsys, "count", "--config", str(config), "--topic", "clicks")
    assert out.splitlines()[-1] == "0 rejected records"


def test_one_record_is_shown_with_all_that_is_known_of_it(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out = run(capsys, "show", "orders", "3", "17", "--config", str(config))
    assert "error        ValueError: a seven\n" in out
    assert 'headers      {"h": "1"}\n' in out
    assert "value        seven\n" in out
    _, out = run(capsys, "show", "orders", "3", "18", "--config", str(config))
    assert "value        \\xff\n" in out
    _, out = run(capsys, "show", "orders", "3", "18", "--config", str(config), "--json")
    assert [(each["table"], each["offset"]) for each in json.loads(out)] == [("lake/orders", 18)]
    code, _ = run(capsys, "show", "orders", "0", "4", "--config", str(config))
    assert code != 0


def test_the_rejected_records_of_a_light_consumer_are_in_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    light_letters(tmp_path)
    config = tmp_path / "restow.toml"
    config.write_text(SETTINGS.format(pipeline="light", table="lake/orders.db"))
    _, out = run(capsys, "list", "--config", str(config), "--json")
    assert [(each["offset"], each["error"]) for each in json.loads(out)] == [(17, "ValueError: a seven")]
    code, _ = run(capsys, "retry", "--config", str(config))
    assert code != 0, "it needs Spark"
