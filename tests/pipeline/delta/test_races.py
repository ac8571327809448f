"""Several processes write to one Delta table at the same time. tests/support/delta/racing.py is their program."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable
from tests.support.delta.lake import COLUMNS, P0, lake, on_disk, repeated, rows, store, stored, visible, write
from tests.support.delta.racing import FOUR, Race

from restow.model import TopicPartition
from restow.pipeline.sinks import Span

pytestmark = pytest.mark.slow

CLICKS = TopicPartition("clicks", 9)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "orders"


@pytest.fixture
def race(table: Path, tmp_path: Path) -> Iterator[Race]:
    race = Race(table, tmp_path)
    yield race
    race.close()


def test_four_writers_create_and_append_to_one_table_without_loss(race: Race, table: Path) -> None:
    refused = race.run("append", 25)
    assert refused == [[[]] * 25] * 4
    spans = {TopicPartition("orders", consumer): Span(0, 75) for consumer in FOUR}
    assert stored(table) == rows(spans)
    assert lake(table).positions(spans) == dict.fromkeys(spans, 75)
    assert times_created(table) == 1


def times_created(root: Path) -> int:
    return [commit["operation"] for commit in DeltaTable(root).history()].count("CREATE TABLE")


def test_concurrent_creators_create_a_table_once_with_the_columns_of_all(race: Race, table: Path) -> None:
    race.run("create", 20)
    tables = [table / str(number) for number in range(20)]
    assert [times_created(table) for table in tables] == [1] * 20
    columns = {"offset", *(f"of_{consumer}" for consumer in FOUR)}
    assert [{field.name for field in DeltaTable(table).schema().fields} for table in tables] == [columns] * 20


def test_four_writers_that_add_columns_at_once_lose_no_column_and_no_row(race: Race, table: Path) -> None:
    assert race.run("evolve", 6) == [[]] * 4
    spans = {TopicPartition("orders", consumer): Span(0, 6) for consumer in FOUR}
    assert stored(table) == rows(spans)
    assert lake(table).positions(spans) == dict.fromkeys(spans, 6)
    own = {f"of_{consumer}_{batch}" for consumer in FOUR for batch in (0, 2, 4)}
    names = [field.name for field in DeltaTable(table).schema().fields]
    assert sorted(names) == sorted({"topic", "partition", "offset", "all_1", "all_3", "all_5", *own})


def test_of_four_writers_of_the_same_ranges_each_range_is_taken_once(race: Race, table: Path) -> None:
    lake(table).register({P0: 0, CLICKS: 5}, COLUMNS)
    taken = race.run("compete", 40)
    assert sum(taken) == 40
    assert stored(table) == rows({P0: Span(0, 40), CLICKS: Span(5, 45)})
    assert lake(table).positions([P0, CLICKS]) == {P0: 40, CLICKS: 45}


def test_four_writers_that_register_the_same_partitions_agree(race: Race) -> None:
    positions = race.run("register", 30)
    assert positions[0][0] in FOUR
    assert positions == [positions[0]] * 4


def test_two_compactors_disturb_neither_appends_nor_each_other(race: Race, table: Path) -> None:
    lake(table).register({P0: 0}, COLUMNS)
    compacting, appending = race.enter("compact_often", (8, 9), 10), race.enter("append", (1, 2), 40)
    race.fire()
    assert race.finish(appending) == [[[]] * 40] * 2
    race.end()
    assert sum(race.finish(compacting)) >= 2
    spans = {TopicPartition("orders", consumer): Span(0, 120) for consumer in (1, 2)}
    assert stored(table) == rows(spans)
    assert lake(table).positions([*spans, P0]) == {**dict.fromkeys(spans, 120), P0: 0}


def test_a_writer_killed_before_its_commit_leaves_nothing_visible(race: Race, table: Path) -> None:
    [victim] = race.enter("die_before_the_commit", (1,), 3)
    assert victim.wait(timeout=60) == -signal.SIGKILL
    assert (len(on_disk(table)), visible(table)) == (1, set())
    assert store(lake(table, 2), {P0: Span(0, 3)}) == ()
    assert stored(table) == rows({P0: Span(0, 3)})


def test_a_writer_paused_before_its_commit_is_refused_after_others_continued(table: Path) -> None:
    late, new = lake(table, 1), lake(table, 2)
    late.register({P0: 0, CLICKS: 0}, COLUMNS)
    files = write(late, spans := {P0: Span(0, 3), CLICKS: Span(0, 3)})
    assert store(new, {P0: Span(0, 5)}) == ()
    assert store(new, {P0: Span(5, 9)}) == ()
    assert late.commit(files, COLUMNS, spans) == (P0,)
    assert store(late, {CLICKS: Span(0, 3)}) == ()
    assert repeated(stored(table)) == []
    assert stored(table) == rows({P0: Span(0, 9), CLICKS: Span(0, 3)})
