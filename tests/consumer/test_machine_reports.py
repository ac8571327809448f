"""The consumer's machine, case by case: what it says of its cycles."""

from tests.support.consumer_machines import (
    A0,
    EPOCH,
    HELD,
    INCARNATION,
    ME,
    NOTHING,
    REPLACED,
    World,
    offsets,
    refusal,
    services,
    start,
)

from restow.consumer.checkpoint import Checkpoint
from restow.consumer.effects import Effect, RunCycle, Save, Send
from restow.consumer.events import (
    ClockTicked,
    CycleEnded,
)
from restow.protocol.messages.reports import ConsumerReport, Failure, Gap


def test_a_partition_taken_over_is_dropped_saved_and_reported_and_the_rest_continues(reading: World) -> None:
    assert reading.loses(A0) == (
        Save(Checkpoint(ME, EPOCH, False, offsets(b_0=20), services("b"))),
        Send(refusal(None, A0, kind="replaced", reason=REPLACED)),
        RunCycle(offsets(b_0=20), services("b")),
    )


def test_new_positions_alone_are_not_saved(reading: World) -> None:
    assert reading.finish(progress=9) == (RunCycle(offsets(a_0=24, b_0=29), HELD.topics),)


def test_it_reports_a_gap_once(reading: World) -> None:
    gap = Gap(A0, 3, 7)
    reading.happens(ClockTicked(100.0))
    reading.running = None
    reading.happens(CycleEnded(reading.state.positions, offsets(a_0=0, b_0=0), gaps=(gap,)))
    reports = [_the_report(reading.happens(ClockTicked(now_s))) for now_s in (105.0, 110.0)]
    assert [report.gaps for report in reports] == [(gap,), ()]
    assert str(gap) == "a-0: the records from 3 to 6, 4 in all, were deleted before they were read"


def test_it_reports_what_it_cannot_store_for_as_long_as_its_cycles_say_so(reading: World) -> None:
    failures = (Failure("a", "the transform failed"), Failure("c", "of a topic that it does not hold"))
    reading.happens(ClockTicked(100.0))
    seen = []
    for now_s, found in ((105.0, failures), (110.0, failures), (115.0, ())):
        reading.running = None
        reading.happens(CycleEnded(reading.state.positions, offsets(a_0=0, b_0=0), failures=found))
        seen.append(_the_report(reading.happens(ClockTicked(now_s))).failures)
    assert seen == [failures[:1], failures[:1], ()]


def _the_report(effects: tuple[Effect, ...]) -> ConsumerReport:
    [tell] = effects
    assert isinstance(tell, Send)
    assert isinstance(tell.message, ConsumerReport)
    return tell.message


def test_it_reports_what_it_did_since_its_last_report(reading: World) -> None:
    assert reading.happens(ClockTicked(100.0)) == ()
    for records, took_s, lag in ((30, 1.0, 500), (50, 3.0, 450)):
        reading.running = None
        lags = offsets(a_0=lag, b_0=0)
        reading.happens(CycleEnded(reading.state.positions, lags, records, 1000 * records, took_s, saturated=True))
    assert reading.happens(ClockTicked(104.9)) == ()
    assert reading.happens(ClockTicked(105.0)) == (
        Send(
            ConsumerReport(
                ME,
                INCARNATION,
                offsets(a_0=450, b_0=0),
                reading.state.definitions,
                records_per_s=16.0,
                bytes_per_s=16_000.0,
                saturated=True,
                cycle_s_mean=2.0,
                cycle_s_max=3.0,
                next_offsets=reading.state.positions,
            )
        ),
    )
    assert reading.happens(ClockTicked(109.0)) == ()


def report_of(world: World, now_s: float) -> ConsumerReport:
    [tell] = world.happens(ClockTicked(now_s))
    assert isinstance(tell, Send)
    assert isinstance(tell.message, ConsumerReport)
    return tell.message


def test_a_window_with_an_unsaturated_cycle_is_not_saturated(reading: World) -> None:
    reading.happens(ClockTicked(0.0))
    for saturated in (True, False):
        reading.running = None
        reading.happens(CycleEnded(reading.state.positions, NOTHING, saturated=saturated))
    assert not report_of(reading, 5.0).saturated


def test_a_cycle_longer_than_the_time_between_reports_counts_over_all_its_time(reading: World) -> None:
    reading.happens(ClockTicked(0.0))
    first = report_of(reading, 5.0)
    reading.finish(progress=100)
    second = report_of(reading, 10.0)
    assert (first.records_per_s, second.records_per_s) == (0.0, 10.0)


def test_a_report_names_all_held_partitions_before_any_cycle(fresh: World) -> None:
    fresh.happens(ClockTicked(0.0))
    fresh.reads(start(1, A0))
    fresh.turn()
    assert report_of(fresh, 5.0).lag_records == offsets(a_0=0)


def test_nothing_is_reported_before_it_is_announced() -> None:
    world = World().begin()
    world.happens(ClockTicked(0.0))
    assert world.happens(ClockTicked(100.0)) == ()
