"""Properties of the controller under any sequence of events, in a consistent world and in an inconsistent one."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.controller_driver import EPOCH, PLAIN, SETTINGS, TO_A, TO_B, Driver, rules
from tests.support.controller_world import World
from tests.support.examples import examples
from tests.support.paths import ROOT

from restow.controller import manage
from restow.controller.event_log import header, replay
from restow.controller.events import ConsumersListed, PlatformRefused, ServiceChanged, SpeedsMeasured
from restow.controller.state import State
from restow.controller.transition import Transition
from restow.controller.transitions import Phase, Stage
from restow.model import ConsumerId, SortedMapping, Speeds, TopicPartition
from restow.platform.interface import ConsumerFailing, ConsumerGone, ConsumerUp, Listed
from restow.protocol.codec import from_plain
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.messages.consumer_events import (
    ConsumerReady,
    ConsumingRefused,
    StartConsumingEvent,
    StateQueryResponse,
    StopConsumingEvent,
)
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.messages.unions import FromConsumer
from restow.protocol.topic_service import TopicService

PARTITIONS = tuple(TopicPartition(topic, number) for topic in ("a", "b") for number in range(4))
SPEEDS = (0.0, 10.0, 30.0, 45.0, 90.0, 130.0, 1e13)
SERVICES: dict[str, tuple[TopicService | None, ...]] = {
    "a": (None, TO_A, replace(TO_A, table="elsewhere")),
    "b": (None, PLAIN, replace(PLAIN, table="elsewhere")),
}
RULES = rules({"a": TO_A, "b": PLAIN}, ready_within_s=60.0, silent_after_s=40.0, most_consumers=5, least_consumers=1)

choices = st.lists(st.tuples(st.integers(0, 39), st.integers(0, 1000)), min_size=60, max_size=160)
"""What happens next, and with whom: numbers, so that a failure is cut down to the few that matter."""


def act(world: World, kind: int, which: int) -> None:
    numbers = sorted(world.machines)
    consumer = numbers[which % len(numbers)] if numbers else None
    match kind:
        case 0 | 1 | 2 | 3:
            world.tick((1.0, 5.0, 5.0, 31.0)[kind], listening=which % 10 > 0)
        case 4:
            world.measure(Speeds({p: SPEEDS[(which + 3 * i) % 6] for i, p in enumerate(PARTITIONS) if which % (i + 2)}))
        case 5:
            world.measure(Speeds({p: SPEEDS[(which + i) % 4] for i, p in enumerate(PARTITIONS)}))
        case 6:
            world.measure(Speeds({PARTITIONS[which % 8]: 1e13}) if which % 3 else Speeds())
        case 7:
            topic = "ab"[which % 2]
            service = SERVICES[topic][which % 3]
            world.update(ServiceUpdate("change" if service else "remove", topic, service))
        case 8:
            capacity = (50.0, 100.0, 200.0)[which % 3]
            consumers = ConsumerSettings(memory_mb=(None, 512)[which % 2], capacity_bytes_per_s=capacity)
            world.update(ServiceUpdate("consumers", consumers=consumers))
        case 9 if which % 2 == 0:
            world.take_over()
        case 10 | 11 | 12 | 13:
            world.platform_tells()
        case 14 | 15 | 16 | 17 | 18 | 19 | 20 | 21 | 22 | 23:
            world.read()
        case _ if consumer is None:
            pass
        case 24 | 25 | 26:
            world.boot(consumer)
        case 27:
            world.crash(consumer, with_volume=which % 3 == 0)
        case 28:
            world.end(consumer)
        case 29 if world.machines[consumer].leaving or which % 5 == 0:
            world.vanish(consumer)
        case 30 | 31:
            world.report(consumer)
        case _:
            world.obey(consumer, refuse=which % 7 == 0)


@settings(
    max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(choices)
@pytest.mark.slow
def test_nothing_that_must_never_happen_happens_and_all_ends_well(chosen: list[tuple[int, int]]) -> None:
    world = World(RULES)
    world.measure(Speeds(dict.fromkeys(PARTITIONS, 30.0)))
    for kind, which in chosen:
        act(world, kind, which)
        check_beliefs(world.state)
    check_log(world)
    world.speeds = Speeds(dict.fromkeys(PARTITIONS, 30.0))
    world.goes_on_without_faults()


@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(st.lists(st.tuples(st.integers(0, 39), st.integers(0, 1000)), min_size=5, max_size=80))
@pytest.mark.slow
def test_a_roll_ends_well_whatever_happens_in_it(chosen: list[tuple[int, int]]) -> None:
    world = World(RULES)
    world.measure(Speeds(dict.fromkeys(PARTITIONS, 30.0)))
    world.goes_on_without_faults()
    world.update(ServiceUpdate("consumers", consumers=ConsumerSettings(memory_mb=512)))
    world.measure()
    assert world.state.rolling == 1
    for kind, which in chosen:
        act(world, kind, which)
        check_beliefs(world.state)
    check_log(world)
    world.speeds = Speeds(dict.fromkeys(PARTITIONS, 30.0))
    world.goes_on_without_faults()


def check_log(world: World | Driver) -> None:
    """The whole state can be written and read, and what is recorded comes to the same again."""
    steps = list(replay(world.log))
    assert all(step.agrees for step in steps)
    assert (steps[-1].after if steps else None) == world.state
    read: State = from_plain(State, json.loads(header(world.state))["state"])
    assert replace(read, consumers=dict(read.consumers)) == world.state


# An inconsistent world: any event, from any consumer, in any order.


def update_of(topic: str, which: int) -> ServiceUpdate:
    service = (None, TO_A, PLAIN)[which]
    return ServiceUpdate("change" if service else "remove", topic, service)


def sorted_mapping(values: dict[Any, Any]) -> SortedMapping[Any, Any]:
    return SortedMapping(values)


consumers = st.integers(1, 3).map(ConsumerId)
partitions = st.sampled_from(PARTITIONS[::2])
some = st.lists(partitions, unique=True, max_size=3)
numbers = st.integers(1, 4)
incarnations = st.integers(0, 60)
epochs = st.sampled_from([EPOCH, EPOCH, EPOCH - 1])
reasons = st.sampled_from(["table", "transform", "replaced"])
offsets = st.dictionaries(partitions, st.integers(0, 9), max_size=3).map(sorted_mapping)
digests = st.dictionaries(
    st.sampled_from(["a", "b"]), st.sampled_from([TO_A.digest, PLAIN.digest, TO_B.digest, "?"])
).map(sorted_mapping)
maybe_offsets = st.dictionaries(partitions, st.none() | st.integers(0, 9), max_size=3).map(sorted_mapping)

messages = st.one_of(
    st.builds(StartConsumingEvent, consumers, incarnations, epochs, numbers, offsets),
    st.builds(StopConsumingEvent, consumers, incarnations, epochs, st.none() | numbers, maybe_offsets),
    st.builds(
        ConsumingRefused,
        *(consumers, incarnations, epochs, st.none() | numbers, some.filter(bool).map(tuple), reasons, st.just("?")),
    ),
    st.builds(ConsumerReady, consumers, st.booleans(), some.map(tuple), digests, st.just(SortedMapping())),
    st.builds(StateQueryResponse, consumers, incarnations, epochs, numbers, offsets, digests, st.integers(0, 3)),
    st.builds(
        ConsumerReport,
        *(consumers, incarnations, offsets, digests, st.floats(0, 10), st.floats(0, 1e6)),
        *(st.booleans(), st.just(0.5), st.just(0.5)),
    ),
)
updates = st.one_of(
    st.builds(update_of, st.sampled_from("abc"), st.integers(0, 2)),
    st.builds(
        lambda memory, capacity: ServiceUpdate(
            "consumers", consumers=ConsumerSettings(memory_mb=memory, capacity_bytes_per_s=capacity)
        ),
        *(st.sampled_from([None, 512]), st.none() | st.floats(1, 1000)),
    ),
)
fingerprints = st.sampled_from([None, "?", SETTINGS.fingerprint, replace(SETTINGS, memory_mb=512).fingerprint])
listings = st.lists(
    st.builds(Listed, consumers, st.booleans(), fingerprints), unique_by=lambda listed: listed.consumer, max_size=3
)
measurements = st.builds(
    SpeedsMeasured,
    st.integers(0, 99).map("2026-03-01T12:00:00.{:03}Z".format),
    st.dictionaries(partitions, st.sampled_from(SPEEDS), max_size=4).map(Speeds),
    st.dictionaries(partitions, st.floats(0, 10), max_size=2).map(sorted_mapping),
)
anything = st.one_of(
    messages,
    messages,
    messages,
    st.tuples(st.sampled_from([0.0, 1.0, 5.0, 5.0, 5.0, 40.0]), st.sampled_from([True, True, False])),
    measurements,
    updates.map(ServiceChanged),
    listings.map(tuple).map(ConsumersListed),
    st.builds(ConsumerUp, consumers),
    st.builds(ConsumerFailing, consumers, st.just("?")),
    st.builds(ConsumerGone, consumers),
    st.builds(PlatformRefused, consumers, st.sampled_from(["create", "delete", "restart"]), st.just("?")),
)


@settings(
    max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(st.lists(anything, max_size=80), st.booleans())
def test_no_sequence_of_events_raises_and_a_replay_agrees(happened: list[Any], empty: bool) -> None:
    driver = Driver(rules({"a": TO_A, "^b.*": PLAIN}, answer_within_s=10.0, ready_within_s=20.0, silent_after_s=20.0))
    driver.starts()
    driver.lists(*(() if empty else (1, 2)))
    for what in happened:
        match what:
            case (seconds, listening):
                driver.ticks(seconds, listening)
            case _ if isinstance(what, FromConsumer):
                driver.hears(what)
            case _:
                driver.happens(what)
        check_beliefs(driver.state)
    check_log(driver)


def check_beliefs(state: State) -> None:
    """Invariants of every state."""
    assert list(state.consumers) == sorted(state.consumers)
    assert (state.target is not None) == (state.stage is Stage.MANAGE)
    assert state.stage is not Stage.REASSIGN
    assert state.rolling <= 1, "two are restarted with new settings at once"
    for view in state.consumers.values():
        assert not view.held_before_roll or view.phase is Phase.ROLLING
        assert view.may_hold <= view.held_before_roll or view.phase is not Phase.ROLLING
        sequences = [sent.command.sequence for sent in view.sent]
        assert sequences == sorted(set(sequences))
        assert max(sequences, default=0) <= view.sequence
        assert all(sent.command.incarnation == view.incarnation for sent in view.sent)
        assert view.has_reported_holdings == (view.incarnation is not None)
        assert view.phase not in (Phase.ASKED, Phase.AWAITED) or not view.has_reported_holdings
    for partition, holders in state.holders().items():
        started = [c for c in holders if any(s.starts and partition in s.left for s in state.consumers[c].sent)]
        assert len(started) <= 1, f"{partition} is being started on {started}"
    if state.stage is Stage.MANAGE:
        again = Transition(state)
        manage.manage(again)
        assert again.effects == [], "something was left undone"


# The same on every machine.

SCENARIO = """
from tests.controller.test_properties import RULES, act
from tests.support.controller_world import World
import random

chosen = random.Random(7)
world = World(RULES)
for _ in range(500):
    act(world, chosen.randrange(40), chosen.randrange(1000))
print("".join(world.past + world.log))
"""


@pytest.mark.slow
def test_the_same_happens_under_every_hash_seed() -> None:
    def begun(seed: str) -> "subprocess.Popen[str]":
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen([sys.executable, "-c", SCENARIO], env=environment, stdout=subprocess.PIPE, text=True)

    first, *others = [run.communicate()[0] for run in [begun(seed) for seed in ("0", "1", "2")]]
    assert len(first.splitlines()) > 300
    assert [other == first for other in others] == [True, True]
