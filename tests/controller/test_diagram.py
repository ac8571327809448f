"""docs/controller.md is what the code generates."""

import inspect
import re
from typing import get_args

from tests.support.paths import ROOT

from restow.controller import diagram, effects, events, transitions
from restow.controller.transitions import PHASES, TRANSITIONS, Phase
from restow.platform import interface

PAGE = ROOT / "docs" / "controller.md"
WRITTEN = diagram.page(map(inspect.getsource, (transitions, events, interface, effects)))
STAGES, PHASES_DRAWN = re.findall(r"^```mermaid\n(.*?)^```$", WRITTEN, re.MULTILINE | re.DOTALL)


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == WRITTEN, "docs/controller.md is old; write it anew with: make docs"


def test_every_transition_is_drawn_with_its_causes() -> None:
    drawn = re.findall(r"^    (\w+) --> (\w+): (.*)$", STAGES, re.MULTILINE)
    ways = {(source, target, cause) for source, target, causes in drawn for cause in causes.split(", ")}
    assert ways == {(s.value, t.value, c.value) for s, t, c in TRANSITIONS}


def test_every_cause_has_words() -> None:
    rows = re.findall(r"^\| (\w+) → (\w+) \| [\w ]+ \| (.*) \|$", WRITTEN, re.MULTILINE)
    assert sorted(rows) == sorted((s.value, t.value, c.words) for s, t, c in TRANSITIONS)


def test_every_change_of_phase_is_drawn() -> None:
    drawn = set(re.findall(r"^    (\S+) --> (\S+)$", PHASES_DRAWN, re.MULTILINE))
    assert drawn == {(source or "[*]", target or "[*]") for source, target in PHASES}


def test_every_phase_event_and_effect_has_a_meaning() -> None:
    rows = dict(re.findall(r"^\| `?(\w+)`? \| ([^|]+[.:…)]) \|", WRITTEN, re.MULTILINE))
    kinds = {kind.__name__ for kind in (*get_args(events.Event), *get_args(effects.Effect))}
    assert rows.keys() == kinds | {phase.value for phase in Phase}
