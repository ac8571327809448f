"""The controller's event log is followed while it is written: what is read, by whom, and what is told of it."""

from pathlib import Path

from tests.support.controller_driver import A0, A1, A2, Told, rules

from restow.controller.effects import Noted
from restow.controller.event_log import header
from restow.controller.machine import begin
from restow.demo.group_view import Picture
from restow.demo.log_tail import Follower, entries_in
from restow.demo.narration import told
from restow.model import ConsumerId

BOTH = (A0, A1)


def grown() -> Told:
    """A group of one that became two, because a-0 and a-1 together are too much for one."""
    group = Told()
    group.starts()
    group.lists()
    group.measures(a_0=40, a_1=40)
    group.is_ready(1)
    group.settles()
    group.measures(a_0=60, a_1=40)
    group.is_ready(2)
    group.settles()
    return group


def picture_of(group: Told) -> Picture:
    picture = Picture()
    for entry in entries_in(group.log):
        picture.see(entry.event)
    return picture


def test_a_log_is_read_as_far_as_its_lines_are_whole(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    follower = Follower(log)
    assert follower.news() == ()
    lines = grown().log
    entries = tuple(entries_in(lines))
    assert len(entries) == len(lines) - 1
    log.write_text("".join(lines[:4]) + lines[4][:25])
    assert follower.news() == entries[:3]
    assert follower.news() == ()
    with log.open("a") as more:
        more.write(lines[4][25:] + "".join(lines[5:]))
    assert follower.news() == entries[3:]
    assert follower.news() == ()


def test_a_log_begins_with_a_line_that_is_no_entry() -> None:
    assert list(entries_in([header(begin(rules()))])) == []


def test_the_picture_has_who_reads_what_and_how_fast_it_is_written() -> None:
    picture = picture_of(grown())
    assert picture.held == {1: {A0}, 2: {A1}}
    assert picture.read == {A0, A1}
    assert picture.bytes_per_s == 100


def test_a_consumer_that_is_killed_reads_nothing_until_it_is_ready_again() -> None:
    group = grown()
    picture = picture_of(group)
    picture.lose(ConsumerId(1))
    assert picture.held == {2: {A1}}
    assert picture.read == {A1}
    group.is_ready(1, A0, clean=False)
    [*_, ready] = entries_in(group.log)
    picture.see(ready.event)
    assert picture.held == {1: {A0}, 2: {A1}}


def test_a_consumer_that_is_gone_reads_nothing() -> None:
    group = grown()
    group.goes(2)
    assert picture_of(group).held == {1: {A0}}


def test_decisions_are_told_with_one_reason_and_looks_that_found_nothing_are_not() -> None:
    lines = [line for entry in entries_in(grown().log) for line in told(entry.effects, BOTH)]
    assert lines == [
        "controller: 0 -> 1 consumers",
        "  consumer 1 is opened for a-0 and a-1, 80 % of its capacity",
        "controller: consumer 1: is ready, with 0 partitions",
        "controller: 1 -> 2 consumers, 1 move of 0.4 capacities",
        "  consumer 2 is opened for a-1, 40 % of its capacity",
        (
            "  a-1 goes from consumer 1 to 2: consumer 1 was at 100 % of its capacity, above its trigger of 95 %; a-1 "
            "at 40 % was the lightest that sufficed; consumer 2 is opened (40 % after)"
        ),
        "controller: consumer 2: is ready, with 0 partitions",
    ]


def test_of_several_moves_the_first_is_told_and_the_others_are_counted() -> None:
    moves = [
        Noted("decision", str(partition), f"{partition} goes from consumer 2 to 1: consumer 2 is emptied and closed")
        for partition in (A0, A1, A2)
    ]
    closing = Noted("decision", "consumer 2", "consumer 2 is closed: that moves 0.3 of a consumer's capacity")
    summary = Noted("decision", "group", "2 -> 1 consumers, 3 moves of 0.3 capacities")
    assert list(told((summary, *moves, closing), (A0, A1, A2))) == [
        "controller: 2 -> 1 consumers, 3 moves of 0.3 capacities",
        "  consumer 2 is closed: that moves 0.3 of a consumer's capacity",
        "  a-0 goes from consumer 2 to 1: consumer 2 is emptied and closed (2 more move, each with its reason)",
    ]


def test_flags_are_told_with_their_names() -> None:
    flag = Noted("flag", "stale speeds", "no speeds for more than 30 s; nothing is scaled until they come")
    assert list(told((flag,), BOTH)) == [
        "controller: stale speeds: no speeds for more than 30 s; nothing is scaled until they come"
    ]
