"""Commits as they are seen in the log of a Delta table."""

import json
import os
from pathlib import Path

from restow.study.throughput import Commit
from restow.throughput.commits import Commits, rows_in
from restow.throughput.records import KEPT


def entry(*adds: tuple[int, bool]) -> str:
    lines: list[dict[str, object]] = [{"commitInfo": {"operation": "WRITE"}}]
    for rows, is_new in adds:
        lines.append({"add": {"path": "x", "dataChange": is_new, "stats": json.dumps({"numRecords": rows})}})
    return "\n".join(map(json.dumps, lines))


def test_the_rows_of_new_files_count_and_those_of_compacted_ones_do_not() -> None:
    assert rows_in(entry((9, True), (18, True), (1000, False))) == 27
    assert rows_in('{"txn":{"appId":"bench/orders-0/1","version":10}}') == 0


def test_each_commit_is_returned_once_with_its_table_and_its_time(tmp_path: Path) -> None:
    tables = {"a": tmp_path / "a", "b": tmp_path / "b"}
    commits = Commits(tables)
    assert commits.new() == []
    for table, number, rows, time_s in (("a", 1, 9, 20), ("b", 0, 18, 10), ("a", 0, 0, 5)):
        log = tables[table] / "_delta_log"
        log.mkdir(parents=True, exist_ok=True)
        file = log / f"{number:020}.json"
        file.write_text(entry((rows, True)))
        os.utime(file, (time_s, time_s))
    (tables["a"] / "_delta_log" / "00000000000000000001.checkpoint.json").write_text("{}")
    assert commits.new() == [Commit("b", 10, 18 / KEPT), Commit("a", 20, 9 / KEPT)]
    assert commits.new() == []
