"""Bad measurements are not believed, and other groups are not heard."""

from dataclasses import replace

import pytest
from tests.support.simulator.checking import P, Said

from restow.controller.events import SpeedsMeasured
from restow.controller.state import State
from restow.model import SortedMapping, Speeds, TopicPartition
from restow.protocol.channels import MeasurementReader
from restow.protocol.measurement import Measurement
from restow.protocol.messages.commands import StateQuery
from restow.simulator.checkers.inputs import OnlyMeasured, OnlyOurs
from restow.simulator.controller import ControllerProcess
from restow.simulator.topics import Topic
from restow.simulator.wire import GROUP, AsBytes, AsValues, Intruder, Measured, Wire, open_measured, parts_of


def test_a_bad_measurement_must_change_nothing(controller: ControllerProcess) -> None:
    said = Said()
    checker = OnlyMeasured(said)
    good, bad = (SpeedsMeasured(f"2026-03-01T00:00:0{n}Z", Speeds({P: speed})) for n, speed in ((1, 10.0), (2, 1e15)))
    before = replace(State(controller.state.rules), measured=good, now_s=1.0)
    checker.measured(Measured(bad, is_nonsense=True), before, before)
    assert said == []
    checker.measured(Measured(bad, is_nonsense=True), before, replace(before, measured=bad))
    assert said == [5, 5]


def test_a_partition_that_was_not_measured_is_not_idle(controller: ControllerProcess) -> None:
    said = Said()
    checker = OnlyMeasured(said)
    whole = SpeedsMeasured("2026-03-01T00:00:01Z", Speeds({P: 10.0, P._replace(partition=1): 5.0}))
    part = SpeedsMeasured("2026-03-01T00:00:02Z", Speeds({P: 10.0}))
    before = replace(State(controller.state.rules), measured=whole, now_s=1.0)
    checker.measured(Measured(part), before, replace(before, measured=part))
    assert said == [5]


def test_a_measurement_must_be_as_the_monitor_sent_it(controller: ControllerProcess) -> None:
    said = Said()
    checker, before = OnlyMeasured(said), State(controller.state.rules)
    sent = SpeedsMeasured("2026-03-01T00:00:01Z", Speeds({TopicPartition("a", number): 1.0 for number in range(9)}))
    parts, reader = parts_of(Measured(sent), "monitor/1"), MeasurementReader(GROUP)
    assert len(parts) > 1
    *early, whole = [open_measured(offset, part, reader) for offset, part in enumerate(parts)]
    assert early == [None] * len(early)
    assert whole is not None
    checker.measured(whole, before, before)
    assert said == []
    checker.measured(replace(whole, event=replace(sent, speeds=Speeds())), before, before)
    assert said == [5]


def test_a_message_of_another_group_must_not_be_read() -> None:
    said = Said()
    checker = OnlyOurs(said)
    query = StateQuery(5, 1)
    checker.opened(AsBytes().seal(query), query)
    checker.opened(Intruder.saying(query), None)
    assert said == []
    checker.opened(Intruder.saying(query), query)
    assert said == [5]


@pytest.mark.parametrize("wire", [AsBytes(), AsValues()])
def test_a_record_of_another_group_is_opened_as_nothing(wire: Wire) -> None:
    query, speeds = StateQuery(5, 1), Measurement("2026-03-01T00:00:01Z", 30.0, SortedMapping())
    assert wire.open(Topic.QUERY, 1, 0, wire.seal(query)) == query
    assert wire.open(Topic.QUERY, 1, 1, Intruder.saying(query)) is None
    assert open_measured(2, Intruder.saying(speeds), MeasurementReader(GROUP)) is None
