"""The controller's log: each note at its level."""

import logging
from typing import get_args

import pytest
from tests.support.controller_driver import create

from restow.controller.effects import Moved, Noted, NoteKind
from restow.controller.transitions import Cause, Stage
from restow.roles.controller import LEVELS, _log


def test_flags_and_failures_are_warnings_and_all_else_is_information(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "restow")
    _log(
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
