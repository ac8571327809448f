"""The controller's event log, followed while it is written: its entries, the view of the group, and the narration."""

from pathlib import Path

import pytest
from tests.support.controller_driver import A0, A1, A2, Driver, rules

from restow.controller.effects import Noted
from restow.controller.event_log import header, replay
from restow.controller.events import Event
from restow.controller.journal import Journal
from restow.controller.log_reader import entries
from restow.controller.machine import begin
from restow.controller.segments import segments_in
from restow.demo.group_view import GroupView
from restow.demo.log_tail import EventLogTail
from restow.demo.narration import narrated
from restow.model import ConsumerId

BOTH = (A0, A1)


def grown() -> Driver:
    """A group of one consumer that became two, because a-0 and a-1 together are too much for one."""
    group = Driver()
    group.starts()
    group.lists()
    group.measures(a_0=40, a_1=40)
    group.is_ready(1)
    group.settles()
    group.measures(a_0=60, a_1=40)
    group.is_ready(2)
    group.settles()
    return group


def view_of(group: Driver) -> GroupView:
    view = GroupView()
    for entry in entries(group.log):
        view.apply(entry.event)
    return view


def test_the_log_is_followed_from_segment_to_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("restow.controller.journal.SEGMENT_BYTES", 500)
    tail, story = EventLogTail(tmp_path / "events"), list(replay(grown().log))
    assert tail.read_new() == ()
    read: list[Event] = []
    with Journal(tmp_path / "events") as journal:
        for step in story:
            journal.write(step.before, step.event, step.effects, step.after)
            new = tail.read_new()
            assert not step.effects or new[-1].effects == step.effects
            read += [entry.event for entry in new]
    read += [entry.event for entry in tail.read_new()]
    assert read == [step.event for step in story]
    assert len(segments_in(tmp_path / "events")) > 2


def test_a_line_that_is_being_written_is_read_when_it_is_complete(tmp_path: Path) -> None:
    story = list(replay(grown().log))
    with Journal(tmp_path / "whole") as journal:
        for step in story:
            journal.write(step.before, step.event, step.effects, step.after)
    [segment] = segments_in(tmp_path / "whole")
    (tmp_path / "events").mkdir()
    tail, content = EventLogTail(tmp_path / "events"), segment.path.read_bytes()
    read: list[Event] = []
    for end in range(0, len(content) + 50, 50):
        (tmp_path / "events" / segment.path.name).write_bytes(content[:end])
        read += [entry.event for entry in tail.read_new()]
    assert read == [step.event for step in story]


def test_the_header_of_a_log_is_no_entry() -> None:
    assert list(entries([header(begin(rules()))])) == []


def test_the_view_has_the_assignment_and_the_total_speed() -> None:
    view = view_of(grown())
    assert view.held == {1: {A0}, 2: {A1}}
    assert view.read == {A0, A1}
    assert view.bytes_per_s == 100


def test_a_consumer_that_is_killed_reads_nothing_until_it_is_ready_again() -> None:
    group = grown()
    view = view_of(group)
    view.remove(ConsumerId(1))
    assert view.held == {2: {A1}}
    assert view.read == {A1}
    assert view.idle == set()
    group.is_ready(1, A0, clean=False)
    [*_, ready] = entries(group.log)
    view.apply(ready.event)
    assert view.held == {1: {A0}, 2: {A1}}


def test_a_consumer_that_is_ready_and_reads_nothing_is_idle() -> None:
    group = grown()
    view = view_of(group)
    assert view.idle == set()
    group.is_ready(3)
    [*_, ready] = entries(group.log)
    view.apply(ready.event)
    assert view.idle == {3}


def test_a_consumer_that_is_gone_reads_nothing() -> None:
    group = grown()
    group.goes(2)
    assert view_of(group).held == {1: {A0}}


def test_decisions_are_narrated_with_one_reason_and_checks_without_change_are_not() -> None:
    lines = [line for entry in entries(grown().log) for line in narrated(entry.effects, BOTH)]
    assert lines == [
        "controller: 0 -> 1 consumers",
        "  consumer 1 is opened for a-0 and a-1, 80 % of its capacity",
        "controller: consumer 1: ready, with 0 partitions",
        "controller: 1 -> 2 consumers, 1 move of 0.4 capacities",
        "  consumer 2 is opened for a-1, 40 % of its capacity",
        (
            "  a-1 goes from consumer 1 to 2: consumer 1 was at 100 % of its capacity, above its trigger of 95 %; a-1 "
            "at 40 % was the lightest that sufficed; consumer 2 is opened (40 % after)"
        ),
        "controller: consumer 2: ready, with 0 partitions",
    ]


def test_of_several_moves_the_first_is_narrated_and_the_others_are_counted() -> None:
    moves = [
        Noted("decision", str(partition), f"{partition} goes from consumer 2 to 1: consumer 2 is emptied and closed")
        for partition in (A0, A1, A2)
    ]
    closing = Noted("decision", "consumer 2", "consumer 2 is closed: that moves 0.3 of a consumer's capacity")
    summary = Noted("decision", "group", "2 -> 1 consumers, 3 moves of 0.3 capacities")
    assert list(narrated((summary, *moves, closing), (A0, A1, A2))) == [
        "controller: 2 -> 1 consumers, 3 moves of 0.3 capacities",
        "  consumer 2 is closed: that moves 0.3 of a consumer's capacity",
        "  a-0 goes from consumer 2 to 1: consumer 2 is emptied and closed (2 more move, each with its reason)",
    ]


def test_a_plan_that_is_made_again_as_it_was_is_not_narrated() -> None:
    again, moved = "3 -> 3 consumers", "3 -> 3 consumers, 1 move of 0.2 capacities"
    for words, lines in ((again, []), (moved, [f"controller: {moved}"])):
        assert list(narrated((Noted("decision", "group", words),), BOTH)) == lines


def test_flags_are_narrated_with_their_names() -> None:
    flag = Noted("flag", "stale speeds", "no speeds for more than 30 s; nothing is scaled until they come")
    assert list(narrated((flag,), BOTH)) == [
        "controller: stale speeds: no speeds for more than 30 s; nothing is scaled until they come"
    ]


def test_a_crash_is_narrated_without_the_log_of_its_process() -> None:
    crash = "crashed: it was killed by SIGKILL; its log ends: stored 9 rows; lag 0 | stopped a-0"
    for words, told in (
        (crash, ""),
        (f"{crash}; others take over 2 partitions of 2", "; others take over 2 partitions of 2"),
    ):
        lines = list(narrated((Noted("consumer", "consumer 1", words),), BOTH))
        assert lines == [f"controller: consumer 1: crashed: it was killed by SIGKILL{told}"]
