"""Several processes write to one Delta table at the same time. tests/support/delta/racing.py is their program."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.support.delta import racing
from tests.support.delta.lake import COLUMNS, P0, lake, on_disk, repeated, rows, store, stored, visible, write
from tests.support.paths import ROOT

from restow.model import TopicPartition
from restow.pipeline.sinks import Span

pytestmark = pytest.mark.slow

REPOSITORY = ROOT
FOUR = (1, 2, 3, 4)
CLICKS = TopicPartition("clicks", 9)


class Race:
    def __init__(self, root: Path) -> None:
        self.root = root
        self._runners: list[subprocess.Popen[str]] = []

    def enter(self, what: str, consumers: tuple[int, ...], count: int) -> list["subprocess.Popen[str]"]:
        entered = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.support.delta.racing", what, str(self.root), str(consumer), str(count)],
                cwd=REPOSITORY,
                stdout=subprocess.PIPE,
                text=True,
            )
            for consumer in consumers
        ]
        self._runners += entered
        return entered

    def fire(self) -> None:
        racing.gun(self.root).touch()

    def finish(self, runners: list["subprocess.Popen[str]"]) -> list[Any]:
        output = [runner.communicate(timeout=60)[0] for runner in runners]
        assert [runner.returncode for runner in runners] == [0] * len(runners)
        return [json.loads(line) for line in output]

    def run(self, what: str, count: int, consumers: tuple[int, ...] = FOUR) -> list[Any]:
        runners = self.enter(what, consumers, count)
        self.fire()
        return self.finish(runners)

    def close(self) -> None:
        racing.gun(self.root).unlink(missing_ok=True)
        for runner in self._runners:
            runner.kill()
            runner.communicate()


@pytest.fixture
def race(tmp_path: Path) -> Iterator[Race]:
    race = Race(tmp_path / "orders")
    yield race
    race.close()


def test_four_writers_create_and_append_to_one_table_without_loss(race: Race) -> None:
    refused = race.run("append", 25)
    assert refused == [[[]] * 25] * 4
    spans = {TopicPartition("orders", consumer): Span(0, 75) for consumer in FOUR}
    assert stored(race.root) == rows(spans)
    assert lake(race.root).positions(spans) == dict.fromkeys(spans, 75)
    assert times_created(race.root) == 1


def times_created(root: Path) -> int:
    return [commit["operation"] for commit in DeltaTable(root).history()].count("CREATE TABLE")


def test_concurrent_creators_create_a_table_once_with_the_columns_of_all(race: Race) -> None:
    race.run("create", 20)
    tables = [race.root / str(number) for number in range(20)]
    assert [times_created(table) for table in tables] == [1] * 20
    columns = {"offset", *(f"of_{consumer}" for consumer in FOUR)}
    assert [{field.name for field in DeltaTable(table).schema().fields} for table in tables] == [columns] * 20


def test_four_writers_that_add_columns_at_once_lose_no_column_and_no_row(race: Race) -> None:
    assert race.run("evolve", 6) == [[]] * 4
    spans = {TopicPartition("orders", consumer): Span(0, 6) for consumer in FOUR}
    assert stored(race.root) == rows(spans)
    assert lake(race.root).positions(spans) == dict.fromkeys(spans, 6)
    own = {f"of_{consumer}_{batch}" for consumer in FOUR for batch in (0, 2, 4)}
    names = [field.name for field in DeltaTable(race.root).schema().fields]
    assert sorted(names) == sorted({"topic", "partition", "offset", "all_1", "all_3", "all_5", *own})


def test_of_four_writers_of_the_same_ranges_each_range_is_taken_once(race: Race) -> None:
    lake(race.root).register({P0: 0, CLICKS: 5}, COLUMNS)
    taken = race.run("compete", 40)
    assert sum(taken) == 40
    assert stored(race.root) == rows({P0: Span(0, 40), CLICKS: Span(5, 45)})
    assert lake(race.root).positions([P0, CLICKS]) == {P0: 40, CLICKS: 45}


def test_four_writers_that_register_the_same_partitions_agree(race: Race) -> None:
    positions = race.run("register", 30)
    assert positions[0][0] in FOUR
    assert positions == [positions[0]] * 4


def test_two_compactors_disturb_neither_appends_nor_each_other(race: Race) -> None:
    lake(race.root).register({P0: 0}, COLUMNS)
    compacting, appending = race.enter("compact_often", (8, 9), 10), race.enter("append", (1, 2), 40)
    race.fire()
    assert race.finish(appending) == [[[]] * 40] * 2
    racing.gun(race.root).unlink()
    assert sum(race.finish(compacting)) >= 2
    spans = {TopicPartition("orders", consumer): Span(0, 120) for consumer in (1, 2)}
    assert stored(race.root) == rows(spans)
    assert lake(race.root).positions([*spans, P0]) == {**dict.fromkeys(spans, 120), P0: 0}


def test_a_writer_killed_before_its_commit_leaves_nothing_visible(race: Race) -> None:
    [victim] = race.enter("die_before_the_commit", (1,), 3)
    assert victim.wait(timeout=60) == -signal.SIGKILL
    assert (len(on_disk(race.root)), visible(race.root)) == (1, set())
    assert store(lake(race.root, 2), {P0: Span(0, 3)}) == ()
    assert stored(race.root) == rows({P0: Span(0, 3)})


def test_a_writer_paused_before_its_commit_is_refused_after_others_continued(race: Race) -> None:
    late, new = lake(race.root, 1), lake(race.root, 2)
    late.register({P0: 0, CLICKS: 0}, COLUMNS)
    files = write(late, spans := {P0: Span(0, 3), CLICKS: Span(0, 3)})
    assert store(new, {P0: Span(0, 5)}) == ()
    assert store(new, {P0: Span(5, 9)}) == ()
    assert late.commit(files, COLUMNS, spans) == (P0,)
    assert store(late, {CLICKS: Span(0, 3)}) == ()
    assert repeated(stored(race.root)) == []
    assert stored(race.root) == rows({P0: Span(0, 9), CLICKS: Span(0, 3)})
