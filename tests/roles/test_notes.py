"""The machine's notes in the log: each at its level, and the failures of a consumer in one line."""

import logging
from typing import get_args

import pytest
from tests.support.controller_driver import create

from restow.controller.effects import Moved, Noted, NoteKind
from restow.controller.transitions import Cause, Stage
from restow.roles.notes import LEVELS, log_notes


def test_flags_and_failures_are_warnings_and_all_else_is_information(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "restow")
    log_notes(
        (
            Moved(Stage.SENTINEL, Stage.REASSIGN, Cause.GONE, Cause.GONE.words),
            Noted("decision", "group", "1 -> 2 consumers"),
            create(2),
            Noted("failure", "consumer 2", "silent for 60 s; restarting it"),
            Noted("flag", "stale speeds", "no speeds for more than 30 s"),
            Noted("cleared", "stale speeds", "resolved, speeds arrive again"),
            Noted("consumer", "consumer 2", "ready, with 100 % of it"),
        )
    )
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", "Sentinel -> Reassign: a consumer disappeared"),
        ("INFO", "group: 1 -> 2 consumers"),
        ("WARNING", "consumer 2: silent for 60 s; restarting it"),
        ("WARNING", "stale speeds: no speeds for more than 30 s"),
        ("INFO", "stale speeds: resolved, speeds arrive again"),
        ("INFO", "consumer 2: ready, with 100 % of it"),
    ]


def test_every_kind_of_note_has_a_level() -> None:
    assert LEVELS.keys() == set(get_args(NoteKind))


def refusal(consumer: int, topic: str) -> Noted:
    return Noted("failure", f"consumer {consumer}", f"refused 4 partitions: there is no table of {topic}")


def test_what_one_consumer_refuses_in_a_round_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "restow")
    log_notes([refusal(1, "a"), refusal(1, "b"), Noted("flag", "refused a", "there is no table of a"), refusal(2, "a")])
    assert caplog.messages == [
        "consumer 1: refused 4 partitions: there is no table of a; refused 4 partitions: there is no table of b",
        "refused a: there is no table of a",
        "consumer 2: refused 4 partitions: there is no table of a",
    ]
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


def test_a_long_list_is_cut_and_repeats_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "restow")
    log_notes([refusal(1, topic) for topic in "aabcdef"])
    [line] = caplog.messages
    assert line.startswith("consumer 1: refused 4 partitions: there is no table of a; ")
    assert line.endswith("there is no table of c; and 3 more like these")
