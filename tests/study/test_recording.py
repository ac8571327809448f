"""Measurements as a trace."""

import json
from pathlib import Path

from restow.model import SortedMapping, Speeds, TopicPartition
from restow.protocol.measurement import Measurement, PartitionSpeed
from restow.study.recording import TraceRecorder, trace_text
from restow.study.workload import read_trace

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def measured(second: int, speeds: dict[TopicPartition, float]) -> Measurement:
    time = f"2026-03-01T12:{second // 60:02}:{second % 60:02}.250Z"
    partitions = {p: PartitionSpeed(0.0, speed, 1.0, 7, None, False) for p, speed in speeds.items()}
    return Measurement(time, 30.0, SortedMapping(partitions))


def recorded(*measurements: Measurement) -> tuple[Speeds, ...]:
    recorder = TraceRecorder(30.0)
    for measurement in measurements:
        recorder.add(measurement)
    return recorder.trace()


def test_a_step_is_the_mean_of_its_measurements() -> None:
    trace = recorded(measured(10, {A0: 100.0}), measured(39, {A0: 300.0}), measured(40, {A0: 50.0}))
    assert trace == (Speeds({A0: 200.0}), Speeds({A0: 50.0}))


def test_a_partition_added_during_a_step_has_the_mean_of_its_own_measurements() -> None:
    assert recorded(measured(0, {A0: 100.0}), measured(1, {A0: 100.0, B0: 80.0})) == (Speeds({A0: 100.0, B0: 80.0}),)


def test_steps_without_a_measurement_repeat_the_one_before() -> None:
    trace = recorded(measured(0, {A0: 10.0}), measured(100, {A0: 40.0}))
    assert trace == (Speeds({A0: 10.0}),) * 3 + (Speeds({A0: 40.0}),)


def test_a_measurement_from_a_clock_behind_counts_in_the_present_step() -> None:
    assert recorded(measured(30, {A0: 10.0}), measured(2, {A0: 30.0})) == (Speeds({A0: 20.0}),)


def test_nothing_measured_is_no_trace() -> None:
    assert recorded() == ()


def test_the_file_is_one_that_the_studies_read(tmp_path: Path) -> None:
    trace = recorded(measured(0, {A1: 1.25, A0: 812.5, B0: 0.0}), measured(30, {A0: 1e9 / 3}))
    file = tmp_path / "speeds.json"
    file.write_text(trace_text(trace))
    assert json.loads(file.read_text()) == [{"a": {"0": 812.5, "1": 1.2}, "b": {"0": 0.0}}, {"a": {"0": 333333333.3}}]
    assert [dict(speeds) for speeds in read_trace(file).speeds()] == [{A0: 812.5, A1: 1.2, B0: 0.0}, {A0: 333333333.3}]
