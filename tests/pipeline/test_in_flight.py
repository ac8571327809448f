"""What is under way, on a volume that works and on one that doesn't, without Spark."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.support.delta.lake import COLUMNS, P0, P1, lake, on_disk, write

from restow.consumer.checkpoint import TableWrite
from restow.consumer.planning import Range
from restow.errors import RestowError
from restow.pipeline.in_flight import Undertaking, UnderWay
from restow.pipeline.start_offsets import Sinks, Target
from restow.pipeline.table import Span


@dataclass
class Notebook:
    """Plans as a volume keeps them."""

    now: tuple[TableWrite, ...] = ()
    fails: bool = False
    said: list[str] = field(default_factory=list)

    def read_plan(self) -> tuple[TableWrite, ...]:
        return self.now

    def write_plan(self, stages: tuple[TableWrite, ...]) -> None:
        self._fail()
        self.now = stages

    def forget_plan(self) -> None:
        self._fail()
        self.now = ()

    def _fail(self) -> None:
        if self.fails:
            raise RestowError("plan.json can't be written: No space left on device")


@pytest.fixture
def notebook() -> Notebook:
    return Notebook()


@pytest.fixture
def sinks(tmp_path: Path) -> Sinks:
    lake(tmp_path / "lake").begin({P0: 0, P1: 0}, COLUMNS)
    return Sinks(lambda uri: lake(Path(uri)))


def undertaking(sinks: Sinks, table: Path, **ranges: Range) -> Undertaking:
    target = Target(str(table), "", lineage=True)
    sink = sinks.of(target)
    return Undertaking(
        target, {{"p0": P0, "p1": P1}[name]: taken for name, taken in ranges.items()}, sink, sink.staging()
    )


def test_what_is_in_doubt_stays_in_the_plan_until_it_is_settled(
    tmp_path: Path, notebook: Notebook, sinks: Sinks
) -> None:
    under_way = UnderWay(notebook, sinks, notebook.said.append)
    first = undertaking(sinks, tmp_path / "lake", p0=Range(0, 0, 5))
    under_way.begin([first])
    assert list(notebook.now) == [first.stage]
    under_way.doubt(first)
    under_way.end()
    second = undertaking(sinks, tmp_path / "other", p1=Range(0, 0, 2))
    assert (under_way.is_doubtful(first.target), under_way.is_doubtful(second.target)) == (True, False)
    under_way.begin([second])
    under_way.end()
    assert list(notebook.now) == [first.stage, second.stage]
    assert under_way.settle(first) is False
    under_way.end()
    assert (notebook.now, under_way.doubted()) == ((), ())


def test_what_the_process_before_left_is_settled_and_said(tmp_path: Path, notebook: Notebook, sinks: Sinks) -> None:
    table = tmp_path / "lake"
    before = lake(table)
    spans = {P0: Span(0, 3)}
    [stored] = files = write(before, spans)
    assert before.commit(files, COLUMNS, spans) == ()
    [half_done] = write(before, {P0: Span(3, 5), P1: Span(0, 2)})
    stages = [
        undertaking(sinks, table, p0=Range(0, 0, 3)).stage,
        undertaking(sinks, table, p0=Range(3, 3, 5), p1=Range(0, 0, 2)).stage,
    ]
    notebook.now = tuple(
        TableWrite(stage.table, file.path.rpartition("/")[0], stage.first, stage.next)
        for stage, file in zip(stages, (stored, half_done), strict=True)
    )
    UnderWay(notebook, sinks, notebook.said.append).recover()
    assert (notebook.now, on_disk(table)) == ((), {stored.path})
    head = "what was under way when the process before ended, "
    assert notebook.said == [
        f"{head}orders-0 from 0 to 2 for the table {table}, was stored",
        (
            f"{head}orders-0 from 3 to 4, orders-1 from 0 to 1 for the table {table}, was not stored, and nothing is "
            "left of it"
        ),
    ]


def test_a_table_that_can_not_be_asked_is_left_to_be_swept(tmp_path: Path, notebook: Notebook, sinks: Sinks) -> None:
    stage = undertaking(sinks, tmp_path / "lake", p0=Range(0, 0, 3)).stage
    (tmp_path / "lake" / "_delta_log" / f"{1:020}.json").write_text('{"txn":{"appId"')
    notebook.now = (stage,)
    UnderWay(notebook, sinks, notebook.said.append).recover()
    [line] = notebook.said
    reason = f"the table {tmp_path / 'lake'} can't be used: "
    assert line.startswith(f"what was under way when the process before ended is left to be swept: {reason}")


def test_a_volume_that_fails_is_said_once_and_stops_nothing(tmp_path: Path, notebook: Notebook, sinks: Sinks) -> None:
    under_way = UnderWay(notebook, sinks, notebook.said.append)
    for fails in (True, True, False, True):
        notebook.fails = fails
        under_way.begin([undertaking(sinks, tmp_path / "lake", p0=Range(0, 0, 5))])
        under_way.end()
    line = (
        "plan.json can't be written: No space left on device; the data goes on, and a crash would leave files that are "
        "swept later"
    )
    assert notebook.said == [line, line]
