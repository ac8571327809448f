"""The progress of restow's consumers, from what is in their tables."""

import json
from pathlib import Path

from restow.handover.light_transform import stamped
from restow.handover.stored import DeltaProgress, LightProgress
from restow.kafka.reading import Record
from restow.model import TopicPartition
from restow.pipeline.light.table import LightTable, PartitionRows
from restow.study.handover import Progress

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)


def store(table: LightTable, partition: TopicPartition, first: int, after: int) -> None:
    records = [Record(*partition, offset, 0, None, b"x") for offset in range(first, after)]
    assert table.write({partition: PartitionRows(first, after, tuple(stamped(records)))}) == {}


def test_a_light_table_s_stamps_are_progress_once_and_each_offset_is_counted(tmp_path: Path) -> None:
    progress = LightProgress(tmp_path / "table.db")
    assert progress.new() == [], "there is no table yet"
    table = LightTable(str(tmp_path / "table.db"), "bench")
    table.begin({P0: 0, P1: 5})
    store(table, P0, 0, 3)
    store(table, P1, 5, 6)
    first, second = progress.new()
    assert [(each.partition, each.first, each.next) for each in (first, second)] == [(0, 0, 3), (1, 5, 6)]
    assert first.owner == second.owner
    assert first.time_s <= second.time_s
    assert progress.new() == []
    store(table, P0, 3, 4)
    assert [(each.partition, each.first, each.next) for each in progress.new()] == [(0, 3, 4)]
    assert progress.copies() == {(0, 0): 1, (0, 1): 1, (0, 2): 1, (0, 3): 1, (1, 5): 1}
    table.close()


def entry(log: Path, version: int, file: str | None, **positions: int) -> None:
    """An entry of a Delta log; positions by `p0`, `p1`."""
    transactions = [{"txn": {"appId": f"bench/orders/{name[1:]}", "version": at}} for name, at in positions.items()] + [
        {"txn": {"appId": "bench/consumer-1", "version": 77}}
    ]
    adds = [{"add": {"path": file, "dataChange": "compactor" not in file}}] if file else []
    log.mkdir(exist_ok=True)
    (log / f"{version:020}.json").write_text("\n".join(map(json.dumps, [*transactions, *adds])))


def test_a_delta_log_s_commits_are_progress_of_the_process_that_wrote_their_files(tmp_path: Path) -> None:
    log, progress = tmp_path / "_delta_log", DeltaProgress(tmp_path)
    assert progress.new() == []
    entry(log, 0, None, p0=10, p1=20)
    entry(log, 1, "data/bench/consumer-1/111-5/a.parquet", p0=12, p1=20)
    entry(log, 2, "data/restow/compactor/9-9/b.parquet")
    found = progress.new()
    written_s = (log / f"{1:020}.json").stat().st_mtime
    assert found == [Progress(0, 10, 12, written_s, "consumer-1 111")], "registered, unchanged and compacted is none"
    entry(log, 3, "data/bench/consumer-2/222-6/c.parquet", p0=13)
    assert [(each.first, each.next, each.owner) for each in progress.new()] == [(12, 13, "consumer-2 222")]
