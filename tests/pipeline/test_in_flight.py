"""Plans of cycles and cycles with unknown outcome, on a working and on a failing volume, without Spark."""

import logging
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.delta.lake import COLUMNS, P0, P1, lake, on_disk, write
from tests.support.small_disk import SmallDisk

from restow.consumer.checkpoint import Suspect, TableWrite
from restow.consumer.planning import Range
from restow.consumer.volume import Volume
from restow.model import ConsumerId, SortedMapping
from restow.pipeline.in_flight import InFlight
from restow.pipeline.sinks import OpenSinks, Span
from restow.pipeline.targets import Target, TargetCycle


@dataclass
class MemoryPlans:
    """A volume's plan, in memory."""

    now: tuple[TableWrite, ...] = ()

    def read_plan(self) -> tuple[TableWrite, ...]:
        return self.now

    def write_plan(self, writes: tuple[TableWrite, ...]) -> None:
        self.now = writes

    def forget_plan(self) -> None:
        self.now = ()

    def read_suspects(self) -> tuple[Suspect, ...]:
        return ()

    def write_suspects(self, suspects: tuple[Suspect, ...]) -> None:
        pass


@pytest.fixture
def plans() -> MemoryPlans:
    return MemoryPlans()


@pytest.fixture
def sinks(tmp_path: Path) -> OpenSinks:
    lake(tmp_path / "lake").register({P0: 0, P1: 0}, COLUMNS)
    return OpenSinks(lambda uri: lake(Path(uri)))


@pytest.fixture(autouse=True)
def _log_everything(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "restow")


def cycle(sinks: OpenSinks, table: Path, **ranges: Range) -> TargetCycle:
    sink = sinks.of(str(table))
    taken = {{"p0": P0, "p1": P1}[name]: taken for name, taken in ranges.items()}
    return TargetCycle(Target(str(table), "", lineage=True), taken, 0.0, sink, sink.staging())


def table_write(cycle: TargetCycle, directory: str | None = None) -> TableWrite:
    first = {partition: span.first for partition, span in cycle.spans.items()}
    after = {partition: span.next for partition, span in cycle.spans.items()}
    return TableWrite(cycle.target.table, directory or cycle.staging, SortedMapping(first), SortedMapping(after))


def test_an_uncertain_cycle_stays_in_the_plan_until_it_is_settled(
    tmp_path: Path, plans: MemoryPlans, sinks: OpenSinks
) -> None:
    in_flight = InFlight(plans, sinks)
    first = cycle(sinks, tmp_path / "lake", p0=Range(0, 0, 5))
    in_flight.begin([first])
    assert list(plans.now) == [table_write(first)]
    in_flight.mark_uncertain(first)
    in_flight.end()
    second = cycle(sinks, tmp_path / "other", p1=Range(0, 0, 2))
    assert (in_flight.is_uncertain(first.target), in_flight.is_uncertain(second.target)) == (True, False)
    in_flight.begin([second])
    in_flight.end()
    assert list(plans.now) == [table_write(first), table_write(second)]
    assert in_flight.settle(first) is False
    in_flight.end()
    assert (plans.now, in_flight.uncertain()) == ((), ())


def test_the_interrupted_cycle_of_the_previous_process_is_settled_and_logged(
    tmp_path: Path, plans: MemoryPlans, sinks: OpenSinks, caplog: pytest.LogCaptureFixture
) -> None:
    table = tmp_path / "lake"
    before = lake(table)
    spans = {P0: Span(0, 3)}
    [stored] = files = write(before, spans)
    assert before.commit(files, COLUMNS, spans) == ()
    [half_done] = write(before, {P0: Span(3, 5), P1: Span(0, 2)})
    plans.now = (
        table_write(cycle(sinks, table, p0=Range(0, 0, 3)), stored.path.rpartition("/")[0]),
        table_write(cycle(sinks, table, p0=Range(3, 3, 5), p1=Range(0, 0, 2)), half_done.path.rpartition("/")[0]),
    )
    InFlight(plans, sinks).recover()
    assert (plans.read_plan(), on_disk(table)) == ((), {stored.path})
    head = "interrupted cycle of the previous process: "
    assert caplog.messages == [
        f"{head}orders-0 from 0 to 2 for the table {table} was stored",
        (
            f"{head}orders-0 from 3 to 4, orders-1 from 0 to 1 for the table {table} was not stored, and its files are "
            "removed"
        ),
    ]


def test_files_of_an_unreadable_table_are_left_for_vacuum(
    tmp_path: Path, plans: MemoryPlans, sinks: OpenSinks, caplog: pytest.LogCaptureFixture
) -> None:
    plans.now = (table_write(cycle(sinks, tmp_path / "lake", p0=Range(0, 0, 3))),)
    (tmp_path / "lake" / "_delta_log" / f"{1:020}.json").write_text('{"txn":{"appId"')
    InFlight(plans, sinks).recover()
    [line] = caplog.messages
    reason = f"the table {tmp_path / 'lake'} can't be used: "
    assert line.startswith(f"files of the interrupted cycle of the previous process are left for vacuum: {reason}")


def test_a_failing_volume_is_logged_once_until_it_works_again_and_stops_nothing(
    tmp_path: Path, disk: SmallDisk, sinks: OpenSinks, caplog: pytest.LogCaptureFixture
) -> None:
    """On a full disk the plan of a cycle can't be written, but the one before it can be removed."""
    with Volume(disk.path / "volume", "restow", ConsumerId(1)) as volume:
        in_flight = InFlight(volume, sinks)
        for is_full in (True, True, False, False, True):
            disk.fill() if is_full else disk.free()
            in_flight.begin([cycle(sinks, tmp_path / "lake", p0=Range(0, 0, 5))])
            in_flight.end()
    failing = (
        f"{disk.path / 'volume' / 'plan.json'} can't be written: No space left on device; cycles continue, but after a "
        "crash their files stay until vacuum removes them"
    )
    assert caplog.messages == [failing, "plans of cycles are written to the volume again", failing]
