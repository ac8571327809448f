"""The event log on disk: segments of bounded size and age, each replayed alone, whatever cut one off."""

import errno
import gzip
import logging
import os
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.controller_driver import A0, RULES, Driver
from tests.support.examples import examples
from tests.support.small_disk import SmallDisk

from restow.controller import journal as journal_module
from restow.controller.event_log import Replay, Step, header, replay
from restow.controller.events import ClockTicked, ConsumersListed, Event, SpeedsMeasured, TookOver
from restow.controller.history import History, Remark, last_utc_s, overlapping
from restow.controller.journal import DAY_S, FLUSH_EVERY_S, RETRY, SEGMENT_S, Journal
from restow.controller.log_reader import NOT_JSON, EntryReader, Origin
from restow.controller.machine import begin, step
from restow.controller.segments import Segment, SegmentLines, segment_name, segments_in
from restow.controller.state import State
from restow.errors import InvalidInput
from restow.model import ConsumerId, Speeds
from restow.platform.interface import Listed
from restow.settings import EventLog

NOON_S = 1_794_916_800.0
"""2026-11-17T12:00:00Z"""


class Clock:
    """A wall clock beside the events' monotonic one."""

    def __init__(self) -> None:
        self.utc_s = NOON_S

    def __call__(self) -> float:
        return self.utc_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


def written(journal: Journal, state: State, *events: Event) -> State:
    for event in events:
        before = state
        state, effects = step(before, event)
        journal.write(before, event, effects, state)
    return state


def lived(journal: Journal, clock: Clock, state: State, seconds: float, every_s: float = 0.2) -> State:
    """Lets time pass on both clocks."""
    for tick in range(round(seconds / every_s)):
        clock.utc_s += every_s
        now_s = round(state.time_s + every_s, 3)
        events: list[Event] = [ClockTicked(now_s)]
        if tick % 5 == 0:
            events.append(SpeedsMeasured(f"2026-03-01T12:{tick:08}Z", Speeds({A0: float(tick % 50)})))
        state = written(journal, state, *events)
    return state


def taken_over(journal: Journal) -> State:
    return written(journal, begin(RULES), ClockTicked(100.0), TookOver(7), ConsumersListed(()))


def files_in(directory: Path) -> list[Path]:
    return [segment.path for segment in segments_in(directory)]


def steps_of(directory: Path) -> list[Step]:
    found = list(History(files_in(directory)).steps())
    assert [remark for remark in found if isinstance(remark, Remark) and remark.is_wrong] == []
    return [each for each in found if isinstance(each, Step)]


def remarks_on(directory: Path) -> list[str]:
    return [each.words for each in History(files_in(directory)).steps() if isinstance(each, Remark)]


# What is written is replayed to the same.


def test_a_log_has_all_that_happened(tmp_path: Path) -> None:
    events = (ClockTicked(1.0), ClockTicked(1.25), TookOver(7), ConsumersListed((Listed(ConsumerId(1)),)))
    with Journal(tmp_path / "group" / "events") as journal:
        state = written(journal, begin(RULES), *events)
    steps = steps_of(tmp_path / "group" / "events")
    assert [step.event for step in steps] == [*events]
    assert all(step.agrees for step in steps)
    assert steps[-1].after == state


@pytest.mark.slow
def test_a_whole_story_is_replayed_from_many_segments_to_the_same_state(
    tmp_path: Path, clock: Clock, pair: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "SEGMENT_BYTES", 1200)
    pair.measures(a_0=60, a_1=40, a_2=40, a_3=40)
    pair.is_ready(3)
    pair.settles()
    pair.waits(120, silent=[2])
    with Journal(tmp_path, wall_clock=clock) as journal:
        for each in replay(pair.log):
            journal.write(each.before, each.event, each.effects, each.after)
    assert len(files_in(tmp_path)) > 3
    steps = steps_of(tmp_path)
    assert all(step.agrees for step in steps)
    assert len(steps) == len(pair.log) - 1
    assert steps[-1].after == pair.state
    for file in files_in(tmp_path):
        alone = list(replay(SegmentLines(file).read_new()))
        assert alone
        assert all(step.agrees for step in alone)


def test_a_segment_is_a_gzip_file_that_any_tool_reads(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        taken_over(journal)
    [file] = files_in(tmp_path)
    lines = gzip.decompress(file.read_bytes()).decode().splitlines()
    assert [bool(step.effects) for step in replay(lines)] == [False, True, True]


def test_a_journal_of_nothing_makes_no_file(tmp_path: Path) -> None:
    with Journal(tmp_path / "events"):
        pass
    assert list(tmp_path.iterdir()) == []


# Segments.


def test_a_segment_ends_after_an_hour_and_the_next_continues_it(tmp_path: Path, clock: Clock) -> None:
    with Journal(tmp_path, controller="host-1", wall_clock=clock) as journal:
        lived(journal, clock, taken_over(journal), 2.5 * SEGMENT_S, every_s=60)
    assert [file.name for file in files_in(tmp_path)] == [
        "events-00000001-20261117T120000Z.jsonl.gz",
        "events-00000002-20261117T130000Z.jsonl.gz",
        "events-00000003-20261117T140000Z.jsonl.gz",
    ]
    steps_of(tmp_path)
    assert remarks_on(tmp_path) == ["controller host-1 begins"]


def test_the_log_is_never_larger_than_it_may_be(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "MB", 50_000)
    state, largest, noise = begin(RULES), 0, random.Random(1)
    with Journal(tmp_path, EventLog(kept_mb=1), wall_clock=clock) as journal:
        for second in range(1, 300):
            clock.utc_s += 1
            speeds = Speeds({A0._replace(partition=number): noise.uniform(0, 1e6) for number in range(30)})
            state = written(journal, state, ClockTicked(float(second)), SpeedsMeasured(f"{second:09}", speeds))
            largest = max(largest, sum(file.stat().st_size for file in tmp_path.iterdir()))
    numbers = [segment.number for segment in segments_in(tmp_path)]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert numbers[0] > 1, "the oldest are deleted"
    assert 30_000 < largest <= 50_000
    assert steps_of(tmp_path)[-1].after == state


def test_segments_are_deleted_after_their_days(tmp_path: Path, clock: Clock) -> None:
    for age_days in (20, 13, 1):
        file = tmp_path / segment_name(30 - age_days, NOON_S - age_days * DAY_S)
        file.write_bytes(b"")
        os.utime(file, (NOON_S - age_days * DAY_S,) * 2)
    (tmp_path / "notes.txt").write_text("not a segment")
    with Journal(tmp_path, EventLog(kept_days=14), wall_clock=clock) as journal:
        taken_over(journal)
    assert [segment.number for segment in segments_in(tmp_path)] == [17, 29, 30]
    assert (tmp_path / "notes.txt").exists()


def test_a_directory_has_no_more_segments_than_it_may(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "MOST_SEGMENTS", 5)
    for _ in range(9):
        with Journal(tmp_path, wall_clock=clock) as journal:
            taken_over(journal)
    assert [segment.number for segment in segments_in(tmp_path)] == [5, 6, 7, 8, 9]


def test_controllers_that_follow_each_other_write_one_history(tmp_path: Path, clock: Clock) -> None:
    for controller in ("host-1", "host-2", "host-3"):
        with Journal(tmp_path, controller=controller, wall_clock=clock) as journal:
            lived(journal, clock, taken_over(journal), 10)
    assert remarks_on(tmp_path) == [f"controller host-{number} begins" for number in (1, 2, 3)]
    steps = steps_of(tmp_path)
    assert [step.utc_s for step in steps] == sorted(step.utc_s or 0 for step in steps)
    assert steps[-1].utc_s == pytest.approx(clock.utc_s, abs=0.06)


def test_two_controllers_at_once_write_segments_of_their_own(tmp_path: Path, clock: Clock) -> None:
    with (
        Journal(tmp_path, controller="old-1", wall_clock=clock) as old,
        Journal(tmp_path, controller="new-2", wall_clock=clock) as new,
    ):
        olds, news = taken_over(old), taken_over(new)
        for _ in range(5):
            olds, news = lived(old, clock, olds, 1200, 60), lived(new, clock, news, 1200, 60)
    assert len(files_in(tmp_path)) == 4
    assert all(step.agrees for step in steps_of(tmp_path))
    assert remarks_on(tmp_path) == ["controller old-1 begins", "controller new-2 begins"]


def test_a_segment_that_does_not_continue_the_one_before_it_is_found(tmp_path: Path, clock: Clock) -> None:
    with Journal(tmp_path, controller="host-1", wall_clock=clock) as journal:
        state = taken_over(journal)
        state = lived(journal, clock, state, SEGMENT_S - 60, every_s=60)
        lived(journal, clock, replace(state, epoch=99), 180, every_s=60)
    [remark] = [each for each in History(files_in(tmp_path)).steps() if isinstance(each, Remark) and each.is_wrong]
    assert remark.words == "this does not begin with the state to which segment 1 led"


# The wall clock.


def test_each_step_has_the_wall_clock(tmp_path: Path, clock: Clock) -> None:
    with Journal(tmp_path, wall_clock=clock) as journal:
        state = taken_over(journal)
        begun_s = clock.utc_s - state.time_s
        lived(journal, clock, state, 30)
    for each in steps_of(tmp_path):
        assert each.utc_s == pytest.approx(begun_s + each.after.time_s, abs=0.06)
    [file] = files_in(tmp_path)
    assert last_utc_s([file]) == pytest.approx(clock.utc_s, abs=0.06)


def test_a_wall_clock_that_is_set_is_followed(tmp_path: Path, clock: Clock) -> None:
    with Journal(tmp_path, wall_clock=clock) as journal:
        state = lived(journal, clock, taken_over(journal), 10)
        clock.utc_s -= 3600
        lived(journal, clock, state, 10)
    times = [each.utc_s or 0 for each in steps_of(tmp_path)]
    assert max(times) == pytest.approx(NOON_S + 10, abs=0.3)
    assert times[-1] == pytest.approx(NOON_S - 3580, abs=0.06)


def test_segments_of_a_time_are_chosen_by_their_names() -> None:
    def segment(number: int, begun_s: float) -> Segment:
        return Segment(number, int(begun_s), Path(segment_name(number, begun_s)))

    hourly = [segment(number, NOON_S + number * SEGMENT_S) for number in range(6)]
    chosen = overlapping(hourly, NOON_S + 2.5 * SEGMENT_S, NOON_S + 3.5 * SEGMENT_S)
    assert [each.number for each in chosen] == [2, 3]
    assert overlapping(hourly, NOON_S + 99 * SEGMENT_S, NOON_S + 100 * SEGMENT_S) == (hourly[-1],)
    assert overlapping(hourly, 0, NOON_S - 60) == ()


# Crashes and full disks.


def test_an_entry_with_effects_is_in_the_file_before_they_are_carried_out(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        taken_over(journal)
        assert [each.event for each in steps_of(tmp_path)] == [ClockTicked(100.0), TookOver(7), ConsumersListed(())]


def test_entries_without_effects_are_in_the_file_about_a_second_later(tmp_path: Path, clock: Clock) -> None:
    with Journal(tmp_path, wall_clock=clock) as journal:
        state = taken_over(journal)
        for _ in range(20):
            state = lived(journal, clock, state, 0.2)
            assert state.time_s - steps_of(tmp_path)[-1].after.time_s <= FLUSH_EVERY_S


class Whole(NamedTuple):
    content: bytes
    lines: list[str]
    flushed: list[tuple[int, int]]
    """How many lines were in how many bytes of the file, in the course of time."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    directory, clock = tmp_path_factory.mktemp("whole"), Clock()
    with Journal(directory, wall_clock=clock) as journal:
        state = taken_over(journal)
        [file] = files_in(directory)
        flushed = []
        for _ in range(60):
            state = lived(journal, clock, state, 1)
            flushed.append((file.stat().st_size, len(list(SegmentLines(file).read_new()))))
    return Whole(file.read_bytes(), list(SegmentLines(file).read_new()), flushed)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(share=st.floats(0, 1), tail=st.binary(max_size=40) | st.just(bytes(4096)))
def test_a_segment_that_is_cut_off_anywhere_has_all_lines_before_that(
    tmp_path: Path, whole: Whole, share: float, tail: bytes
) -> None:
    """The tail is what a disk may have after a power failure: nothing, zeros, or garbage."""
    file = tmp_path / segment_name(1, NOON_S)
    end = round(share * len(whole.content))
    file.write_bytes(whole.content[:end])
    clean = list(SegmentLines(file).read_new())
    assert clean == whole.lines[: len(clean)]
    assert len(clean) >= max((lines for size, lines in whole.flushed if size <= end), default=0)
    file.write_bytes(whole.content[:end] + tail)
    torn: list[str] = []
    try:
        for line in SegmentLines(file).read_new():
            torn.append(line)  # noqa: PERF402  what precedes the error counts
    except InvalidInput:
        pass
    assert torn[: len(clean)] == clean


def test_the_history_goes_on_after_a_segment_that_is_cut_off(tmp_path: Path, clock: Clock, whole: Whole) -> None:
    (tmp_path / segment_name(1, NOON_S - 60)).write_bytes(whole.content[: whole.flushed[30][0]] + bytes(512))
    (tmp_path / segment_name(2, NOON_S - 30)).write_bytes(b"")
    (tmp_path / segment_name(3, NOON_S - 20)).write_text(f"{whole.lines[0]}\nwhat is this?\n")
    with Journal(tmp_path, controller="host-2", wall_clock=clock) as journal:
        state = lived(journal, clock, taken_over(journal), 5)
    found = list(History(files_in(tmp_path)).steps())
    assert [each.words for each in found if isinstance(each, Remark)] == [
        "controller  begins",
        "its end is cut off, as by a crash; all lines before that are read",
        "it has no whole line, as after a crash",
        "controller  begins",
        f"{NOT_JSON.format(2)}; the rest of this segment is left out",
        "controller host-2 begins",
    ]
    assert isinstance(last := found[-1], Step)
    assert last.after == state


def test_the_last_time_is_that_of_the_last_segment_that_can_be_read(tmp_path: Path, clock: Clock, whole: Whole) -> None:
    with Journal(tmp_path, wall_clock=clock) as journal:
        lived(journal, clock, taken_over(journal), 5)
    (tmp_path / segment_name(2, NOON_S + 60)).write_bytes(b"")
    (tmp_path / segment_name(3, NOON_S + 70)).write_text("what is this?\n")
    assert last_utc_s(files_in(tmp_path)) == pytest.approx(NOON_S + 5, abs=0.06)
    (tmp_path / segment_name(4, NOON_S + 80)).write_bytes(whole.content[: whole.flushed[30][0]] + bytes(512))
    assert last_utc_s(files_in(tmp_path)) == pytest.approx(NOON_S + 31, abs=1.1)


def test_a_segment_that_is_deleted_while_the_history_is_read_is_reported(tmp_path: Path, clock: Clock) -> None:
    for controller in ("host-1", "host-2"):
        with Journal(tmp_path, controller=controller, wall_clock=clock) as journal:
            taken_over(journal)
    first, second = files_in(tmp_path)
    steps = History([first, second]).steps()
    first.unlink()
    assert [each.words for each in steps if isinstance(each, Remark)] == [
        "it was deleted meanwhile, because the log has reached its limit",
        "controller host-2 begins",
    ]


class FullDisk:
    """Fails writes while it is full; of the first write that does not fit it takes a part."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left: float = float("inf")
        self._write = os.write
        monkeypatch.setattr("restow.controller.journal.os.write", self.write)

    def write(self, descriptor: int, content: memoryview) -> int:
        if self.left <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = content[: int(min(self.left, len(content)))]
        self.left -= len(taken)
        return self._write(descriptor, taken)


@pytest.mark.parametrize("left", [0, 1, 7])
def test_after_a_full_disk_a_new_segment_has_the_state_and_the_number_of_lost_events(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, left: int
) -> None:
    caplog.set_level(logging.INFO, "restow")
    disk = FullDisk(monkeypatch)
    with Journal(tmp_path, controller="host-1", wall_clock=clock) as journal:
        state = lived(journal, clock, taken_over(journal), 5)
        on_disk, in_memory = len(steps_of(tmp_path)), 3 + 25 + 5 - len(steps_of(tmp_path))
        disk.left = left
        state = lived(journal, clock, state, RETRY.longest_s, every_s=1.0)
        disk.left = float("inf")
        state = lived(journal, clock, state, RETRY.longest_s, every_s=RETRY.longest_s)
        state = lived(journal, clock, state, 5)
    found = list(History(files_in(tmp_path)).steps())
    steps = [each for each in found if isinstance(each, Step)]
    assert all(step.agrees for step in steps)
    assert steps[-1].after == state
    lost = in_memory + 30 + 6
    assert [each.words for each in found if isinstance(each, Remark)] == [
        "controller host-1 begins",
        f"{lost} events before this could not be written by controller host-1",
    ]
    assert len(steps) == on_disk + 2 + 25 + 5
    assert len(files_in(tmp_path)) == 2
    cant = f"the event log {tmp_path} can't be written: No space left on device"
    assert caplog.messages == [
        f"{cant}; the controller continues, and counts the events until it can",
        f"the event log is written again; {lost} events are not in it",
    ]


@pytest.mark.slow
def test_on_a_real_disk_every_event_is_in_the_log_or_counted(disk: SmallDisk, clock: Clock) -> None:
    log = disk.path / "events"
    with Journal(log, controller="host-1", wall_clock=clock) as journal:
        state = taken_over(journal)
        events = 3
        for is_full in (False, True, False, True, False):
            disk.fill() if is_full else disk.free()
            state = lived(journal, clock, state, 400)
            events += 2000 + 400
    read, lost = 0, 0
    for file in files_in(log):
        replayed = Replay()
        steps = [step for line in SegmentLines(file).read_new() if (step := replayed.step(line)) is not None]
        assert all(step.agrees for step in steps)
        assert replayed.header is not None
        assert replayed.header.origin is not None
        read, lost = read + len(steps), lost + replayed.header.origin.lost
    assert len(files_in(log)) == 3
    assert read + lost == events
    assert lost > 1000
    assert replayed.state == state


def test_on_a_full_disk_the_state_is_not_encoded_for_every_event(
    disk: SmallDisk, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state of 10,000 partitions takes longer to encode than a round may take."""
    tried: list[int] = []

    def counting(state: State, origin: Origin) -> str:
        tried.append(origin.lost)
        return header(state, origin)

    monkeypatch.setattr(journal_module, "header", counting)
    disk.fill()
    with Journal(disk.path / "events", wall_clock=clock) as journal:
        lived(journal, clock, taken_over(journal), 60)
    assert 5 <= len(tried) <= 8


def test_a_segment_without_a_first_line_is_removed_and_a_controller_can_start_on_a_full_disk(
    disk: SmallDisk, clock: Clock
) -> None:
    log = disk.path / "events"
    disk.fill()
    with Journal(log, controller="host-1", wall_clock=clock) as journal:
        state = taken_over(journal)
        assert list(log.iterdir()) == []
        disk.free()
        clock.utc_s += RETRY.first_s
        state = written(journal, state, ClockTicked(state.time_s + RETRY.first_s))
    assert [segment.number for segment in segments_in(log)] == [1]
    remark, *steps = History(files_in(log)).steps()
    assert isinstance(remark, Remark)
    assert remark.words == "3 events before this could not be written by controller host-1"
    assert [step.after for step in steps if isinstance(step, Step) and step.agrees] == [state]


def test_a_disk_that_is_full_at_the_end_does_not_keep_the_controller_from_ending(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    disk = FullDisk(monkeypatch)
    with Journal(tmp_path, wall_clock=clock) as journal:
        state = taken_over(journal)
        assert len(steps_of(tmp_path)) == 3
        disk.left = 0
        written(journal, state, ClockTicked(state.time_s + 0.1))
    assert caplog.messages == [f"1 event is not in the event log {tmp_path}, which can't be written"]
    assert len(steps_of(tmp_path)) == 3


# Reading.


def test_names_that_are_no_segments_are_passed_over(tmp_path: Path) -> None:
    for name in ("events.jsonl", "events-1-2.jsonl.gz", "events-00000001-20269999T999999Z.jsonl.gz"):
        (tmp_path / name).write_bytes(b"")
    assert segments_in(tmp_path) == ()


def test_a_difference_in_a_line_is_refused_with_the_line() -> None:
    reader = EntryReader()
    replayed = Replay()
    for each in (reader.read, replayed.step):
        read: Callable[[str], object] = each
        read(header(begin(RULES)))
        with pytest.raises(InvalidInput, match="line 2: this ClockTicked is a difference, and none precedes it"):
            read('{"event":{"type":"ClockTicked","by":[1]}}')
