import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.consumer_machines import A0, A1

from restow.kafka.reading import Record
from restow.model import TopicPartition
from restow.pipeline.light import table as light_table
from restow.pipeline.light.table import LightTable, LightTableError, PartitionRows


def span(partition: TopicPartition, first: int, last: int) -> PartitionRows:
    rows = tuple(Record(*partition, offset, 1000 + offset, b"k", b"v") for offset in range(first, last + 1))
    return PartitionRows(first, last + 1, rows)


def rows_in(file: Path) -> list[tuple[object, ...]]:
    database = sqlite3.connect(file)
    try:
        return database.execute("SELECT * FROM records ORDER BY 1, 2, 3").fetchall()
    finally:
        database.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "new" / "table.db"


@pytest.fixture
def table(file: Path) -> Iterator[LightTable]:
    table = LightTable(str(file), "restow")
    yield table
    table.close()


def test_rows_and_next_offsets_are_stored_together(table: LightTable, file: Path) -> None:
    table.begin({A0: 5, A1: 0})
    assert table.write({A0: span(A0, 5, 6), A1: span(A1, 0, 0)}) == {}
    assert table.positions([A0, A1]) == {A0: 7, A1: 1}
    assert rows_in(file) == [
        ("a", 0, 5, 1005, b"k", b"v"),
        ("a", 0, 6, 1006, b"k", b"v"),
        ("a", 1, 0, 1000, b"k", b"v"),
    ]


def test_a_start_offset_is_recorded_once(table: LightTable) -> None:
    assert table.positions([A0, A1]) == {}
    table.begin({A0: 5})
    table.begin({A0: 9, A1: 1})
    assert table.positions([A0, A1]) == {A0: 5, A1: 1}


def test_a_late_write_is_refused_and_the_rest_is_stored(table: LightTable, file: Path) -> None:
    table.begin({A0: 0, A1: 0})
    other = LightTable(str(file), "restow")
    assert other.write({A0: span(A0, 0, 3)}) == {}
    other.close()
    assert table.write({A0: span(A0, 0, 1), A1: span(A1, 0, 1)}) == {A0: 4}
    assert table.positions([A0, A1]) == {A0: 4, A1: 2}
    assert [(row[1], row[2]) for row in rows_in(file)] == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1)]


def test_an_unknown_partition_is_refused(table: LightTable, file: Path) -> None:
    assert table.write({A0: span(A0, 0, 1)}) == {A0: None}
    assert rows_in(file) == []


def test_groups_have_positions_of_their_own(table: LightTable, file: Path) -> None:
    table.begin({A0: 5})
    other = LightTable(str(file), "others")
    assert other.positions([A0]) == {}
    other.close()


def test_a_write_that_fails_leaves_nothing(table: LightTable, file: Path) -> None:
    table.begin({A0: 0})
    broken = PartitionRows(0, 2, (Record(*A0, 0, 0, None, None), Record(*A0, None, 0, None, None)))  # type: ignore[arg-type]
    with pytest.raises(LightTableError, match=r"the table .*table.db can't be used: NOT NULL constraint failed"):
        table.write({A0: broken})
    assert (table.positions([A0]), rows_in(file)) == ({A0: 0}, [])


def test_a_locked_table_is_an_error_until_it_is_released(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(light_table, "BUSY_WITHIN_S", 0.05)
    table = LightTable(str(file), "restow")
    table.begin({A0: 0})
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(LightTableError, match="database is locked"):
        table.write({A0: span(A0, 0, 1)})
    holder.execute("COMMIT")
    assert table.write({A0: span(A0, 0, 1)}) == {}
    holder.close()
    table.close()


def test_a_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "text.db"
    file.write_text("no database at all, whatever its name says")
    with pytest.raises(LightTableError, match="file is not a database"):
        LightTable(str(file), "restow")
    with pytest.raises(LightTableError, match=r"can't be created: .*text\.db: File exists"):
        LightTable(str(file / "inside.db"), "restow")


def race(file: str) -> int:
    """Tries to write the same spans as the others do; how many were taken."""
    table, taken = LightTable(file, "restow"), 0
    table.begin({A0: 0})
    for start in range(60):
        while table.positions([A0])[A0] < start:
            pass
        taken += table.write({A0: span(A0, start, start)}) == {}
    table.close()
    return taken


def test_consumers_racing_for_the_same_offsets_store_each_once(file: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        taken = list(pool.map(race, [str(file)] * 2))
    assert sum(taken) == 60
    assert [row[2] for row in rows_in(file)] == list(range(60))


def test_bad_records_are_rejected_in_the_same_transaction_and_only_by_the_owner(table: LightTable, file: Path) -> None:
    table.begin({A0: 5})
    bad = Record(*A0, 6, 1006, b"k", b"x")
    rows = replace(span(A0, 5, 7), rejected=((bad, "ValueError: x"),))
    assert table.write({A0: rows}) == {}
    assert table.write({A0: rows}) == {A0: 8}, "a late writer rejects nothing"
    with closing(sqlite3.connect(file)) as database:
        assert database.execute('SELECT "offset", value, error FROM rejected').fetchall() == [
            (6, b"x", "ValueError: x")
        ]
