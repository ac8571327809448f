"""The controller's story as lines of JSON: saved, replayed to the same, and without secrets."""

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.support.controller_driver import A0, A1, RULES, SETTINGS, TO_A, Driver, create, delete, restart

from restow.controller.effects import Effect, ListConsumers, Moved, Noted, Send
from restow.controller.event_log import REDACTED, EntryWriter, entry, header, replay
from restow.controller.events import (
    ClockTicked,
    CodeChanged,
    ConsumersListed,
    Event,
    Heard,
    LearningRecalled,
    PlatformRefused,
    Received,
    RetentionSeen,
    SchedulePlanned,
    ServiceChanged,
    SpeedsMeasured,
    TookOver,
    Window,
)
from restow.controller.learned import LearnedCapacity, TopicCost
from restow.controller.log_reader import Origin, entries
from restow.controller.machine import begin
from restow.controller.segments import SegmentLines
from restow.controller.state import State
from restow.controller.transitions import Cause, Stage
from restow.errors import InvalidInput
from restow.model import ConsumerId, SortedMapping, Speeds, TopicPartition
from restow.platform.interface import ConsumerCrashed, ConsumerFailing, ConsumerGone, ConsumerUp, Listed
from restow.protocol.codec import from_plain
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.field_types import StartFrom
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery, StopConsumingCommand
from restow.protocol.messages.consumer_events import ConsumerReady
from restow.protocol.messages.service import ServiceUpdate

GOLDEN = Path(__file__).parent / "golden"
ONE = ConsumerId(1)
READY = ConsumerReady(ONE, False, (A0,), SortedMapping({"a": TO_A.digest}), SortedMapping({"StateQuery": 1}))
EVENTS: tuple[Event, ...] = (
    TookOver(7),
    ClockTicked(12.5, listening=False),
    SpeedsMeasured("2026-03-01T12:00:00.250Z", Speeds({A0: 40.0}), SortedMapping({A0: 4.0})),
    Received((Heard(81, READY),)),
    ServiceChanged(ServiceUpdate("change", "a", TO_A)),
    ConsumersListed((Listed(ONE), Listed(ConsumerId(2), leaving=True))),
    ConsumerUp(ONE),
    ConsumerCrashed(ONE, "killed"),
    ConsumerFailing(ONE, "no memory"),
    ConsumerGone(ONE),
    PlatformRefused(ONE, "restart", "too busy"),
    CodeChanged("1a2b3c4d5e6f"),
    LearningRecalled(
        SortedMapping({ONE: LearnedCapacity(2_500_000.0, 3_000_000.0)}), SortedMapping({"a": TopicCost(1.5, 4e9)})
    ),
    SchedulePlanned((Window("0 22 * * *", 1_772_366_400.0, 1_772_395_200.0, least=1, hold=True),)),
    RetentionSeen(SortedMapping({A0: 120.0})),
)
BEGINS: dict[TopicPartition, StartFrom] = {A0: 5, A1: "recover"}
START = StartConsumingCommand(7, 1, 81, SortedMapping({"a": TO_A}), SortedMapping(BEGINS))
EFFECTS: tuple[Effect, ...] = (
    Send(ONE, START),
    Send(ONE, StopConsumingCommand(7, 2, 81, (A0,))),
    Send(ONE, StateQuery(7, 1)),
    ListConsumers(),
    create(1),
    delete(1),
    restart(1),
    Moved(Stage.MANAGE, Stage.REASSIGN, Cause.GONE, "a consumer disappeared"),
    Noted("flag", "infeasible", "a-0 faster than any consumer"),
)


@pytest.fixture
def moved(pair: Driver) -> Driver:
    """Partitions were moved, and a consumer was restarted."""
    pair.measures(a_0=60, a_1=40, a_2=40, a_3=40)
    pair.is_ready(3)
    pair.settles()
    pair.waits(60, silent=[2])
    return pair


# What is written is read as the same.


def test_the_examples_have_every_event_and_every_effect() -> None:
    assert {type(event) for event in EVENTS} == set(get_args(Event))
    assert {type(effect) for effect in EFFECTS} == set(get_args(Effect))


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_is_read_as_it_was_written(event: Event) -> None:
    line = json.loads(entry(event, (), begin(RULES)))
    assert from_plain(Event, line["event"]) == event


def test_effects_are_read_as_they_were_written() -> None:
    line = json.loads(entry(TookOver(7), EFFECTS, begin(RULES)))
    assert tuple(from_plain(Effect, effect) for effect in line["effects"]) == EFFECTS


def test_an_entry_is_one_line_that_people_can_read() -> None:
    state = replace(begin(RULES), stage=Stage.MANAGE)
    assert entry(ConsumerGone(ONE), (delete(1),), state) == (
        '{"event":{"type":"ConsumerGone","consumer":1},"effects":[{"type":"DeleteConsumer","consumer":1}],'
        '"stage":"Manage"}\n'
    )


def test_a_log_begins_with_all_that_is_known(moved: Driver) -> None:
    [line] = header(moved.state).splitlines()
    read: State = from_plain(State, json.loads(line)["state"])
    assert replace(read, consumers=dict(read.consumers)) == moved.state


# Replay.


def test_a_replay_comes_to_the_same_state_by_the_same_effects(moved: Driver) -> None:
    steps = list(replay(moved.log))
    assert [step.line for step in steps] == list(range(2, len(moved.log) + 1))
    assert all(step.agrees for step in steps)
    assert steps[-1].after == moved.state


def test_a_replay_can_begin_anywhere(moved: Driver) -> None:
    later = [header(moved.state)]
    moved.log.clear()
    moved.waits(30)
    steps = list(replay(later + moved.log))
    assert all(step.agrees for step in steps)
    assert steps[-1].after == moved.state


def test_blank_lines_are_passed_over(moved: Driver) -> None:
    steps = list(replay([*moved.log[:5], "\n", *moved.log[5:]]))
    assert all(step.agrees for step in steps)
    assert steps[-1].after == moved.state


@pytest.mark.parametrize("file", sorted(GOLDEN.iterdir()), ids=lambda file: file.stem)
def test_a_log_of_every_version_is_replayed_to_the_same_effects(file: Path) -> None:
    """Recorded by the code of that version: the start of a controller, a group in the middle of a roll, moves."""
    lines = list(SegmentLines(file).read_new())
    steps = list(replay(lines))
    assert len(steps) == len(lines) - 1
    assert [step.line for step in steps if not step.agrees] == []


def tampered(log: list[str], change: Callable[[dict[str, Any]], object], with_effect: str) -> tuple[list[str], int]:
    """The first entry with such an effect, changed; and its line."""
    index = next(i for i, line in enumerate(log) if with_effect in line and i)
    entry = json.loads(log[index])
    change(entry)
    return [*log[:index], json.dumps(entry) + "\n", *log[index + 1 :]], index + 1


@pytest.mark.parametrize(
    ("effect", "change"),
    [
        ("StopConsumingCommand", lambda entry: entry["effects"].clear()),
        ("CreateConsumer", lambda entry: entry["effects"][-1].update(consumer=9)),
        ("Moved", lambda entry: entry.update(stage="Manage" if entry["stage"] != "Manage" else "Sentinel")),
    ],
)
def test_a_changed_entry_is_found(moved: Driver, effect: str, change: Callable[[Any], object]) -> None:
    log, line = tampered(moved.log, change, effect)
    assert [step.line for step in replay(log) if not step.agrees] == [line]


def test_a_changed_event_is_found_by_its_effects(moved: Driver) -> None:
    log, line = tampered(moved.log, lambda entry: entry["event"]["speeds"]["a"].update({"0": 30.0}), "CreateConsumer")
    assert next(step.line for step in replay(log) if not step.agrees) == line


# What is no log.


def refusal(*lines: str) -> str:
    with pytest.raises(InvalidInput) as refused:
        list(replay(lines))
    return str(refused.value)


NO_LOG = "line 1: this is not a log of version 2, 3, 4, 5, 6 or 7; it must begin with the controller's state"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "line 1: this is not JSON; the file is damaged, or no log of a controller"),
        ("capacity = 100", "line 1: this is not JSON; the file is damaged, or no log of a controller"),
        ("[1]", "line 1: this is not an entry; it must be an object with an event"),
        ('{"log": 1, "state": {}}', NO_LOG),
        ('{"type": "StateQuery", "version": 1}', NO_LOG),
        ('{"log": 2}', "line 1: state is null; it must be an object, a State"),
        ('{"log": 2, "state": {}}', "line 1: state.rules is missing; it must be given: a Rules"),
    ],
)
def test_a_file_that_is_no_log_is_refused(line: str, says: str) -> None:
    assert refusal(line) == says


def test_a_log_of_an_unknown_packer_is_refused() -> None:
    says = refusal(header(begin(replace(RULES, packer="best"))))
    assert says.startswith("line 1: there is no packer 'best'; known are ")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"event": {"type": "Conf', "line 3: this is not JSON; the file is damaged, or no log of a controller"),
        ("17", "line 3: this is not an entry; it must be an object with an event"),
        ("{}", "line 3: event is null; it must be an object, one of TookOver, ClockTicked"),
        (
            '{"event": {"type": "ConsumerGone", "consumer": 0}}',
            "line 3: event.consumer is 0; it must be a consumer's number, 1 or more",
        ),
        (
            '{"event": {"type": "TookOver", "epoch": 8}}',
            "line 3: that can't have happened (a controller takes over once); the file is damaged",
        ),
    ],
)
def test_a_damaged_line_is_refused_with_its_number(line: str, says: str) -> None:
    assert refusal(header(begin(RULES)), entry(TookOver(7), (ListConsumers(),), begin(RULES)), line).startswith(says)


# What a segment leaves out is put back.


def segment_of(story: Driver) -> tuple[list[str], list[str]]:
    """The same story as whole lines, and shortened as in a segment."""
    steps = list(replay(story.log))
    writer = EntryWriter(steps[0].before.stage)
    return story.log, [story.log[0], *(writer.entry(step.event, step.effects, step.after) for step in steps)]


def test_a_segment_has_the_same_entries_in_fewer_bytes(moved: Driver) -> None:
    whole, short = segment_of(moved)
    assert [(each.event, each.plain) for each in entries(short)] == [
        (each.event, each.plain) for each in entries(whole)
    ]
    assert 1.5 * sum(map(len, short[1:])) < sum(map(len, whole[1:]))
    assert all(step.agrees for step in replay(short))


def test_the_stage_is_written_where_it_changes(moved: Driver) -> None:
    _, short = segment_of(moved)
    written = [json.loads(line)["stage"] for line in short[1:] if "stage" in json.loads(line)]
    assert all(one != other for one, other in itertools.pairwise(written))
    assert len(written) < len(short) / 3


def test_the_wall_clock_follows_the_monotonic_one_until_it_is_written_again() -> None:
    state = begin(RULES)
    writer = EntryWriter(state.stage)
    lines = [
        header(state, Origin(5000.0, "host-1")),
        writer.entry(ClockTicked(10.0), (), state, 5000.0),
        writer.entry(ClockTicked(11.5), (), state),
        writer.entry(ClockTicked(12.0), (), state, 9000.0),
        writer.entry(TookOver(7), (), state),
    ]
    assert [entry.utc_s for entry in entries(lines)] == [5000.0, 5001.5, 9000.0, 9000.0]


def test_a_segment_that_begins_later_has_the_wall_clock_from_its_first_line(moved: Driver) -> None:
    now_s = moved.state.time_s
    writer = EntryWriter(moved.state.stage)
    lines = [header(moved.state, Origin(5000.0, "host-1")), writer.entry(ClockTicked(now_s + 2), (), moved.state)]
    assert [entry.utc_s for entry in entries(lines)] == [5002.0]


def test_a_log_of_version_3_has_no_wall_clock() -> None:
    lines = (GOLDEN / "version-3-moving.jsonl").read_text().splitlines()
    assert {step.utc_s for step in replay(lines)} == {None}


# Secrets.


def test_the_values_of_environments_are_in_no_line(alone: Driver) -> None:
    secret = ConsumerSettings(env=SortedMapping({"PASSWORD": "hunter2", "TOKEN": "hunter3"}))
    alone.changes_consumers(secret)
    [request] = alone.measures(a_0=40)
    assert request == create(1, replace(SETTINGS, env=secret.env))
    alone.is_ready(1)
    alone.answers(1)
    alone.waits(60, silent=[1])
    text = "".join(alone.log) + header(alone.state)
    assert "hunter" not in text
    assert text.count("RestartConsumer") == 1
    assert text.count(f'"PASSWORD":"{REDACTED}"') == 4  # the update, a creation, a restart, and the state
    assert all(step.agrees for step in replay(alone.log))
