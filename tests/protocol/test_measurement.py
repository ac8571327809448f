"""The record on the monitor topic: its bytes are agreed with every reader, so they are kept in a file."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from restow.errors import InvalidInput
from restow.model import SortedMapping, Speeds, TopicPartition
from restow.monitor.meter import Meter
from restow.monitor.sample import PartitionSample, Sample
from restow.protocol.measurement import Measurement, PartitionSpeed, encode
from restow.protocol.measurement_parts import decode

GOLDEN = Path(__file__).parent / "golden" / "measurement-v1.json"
P2, P10 = TopicPartition("orders-eu", 2), TopicPartition("orders-eu", 10)
OTHER = TopicPartition("payments", 0)

MEASUREMENT = Measurement(
    time="2026-03-01T12:00:00.250Z",
    window_s=2.0,
    partitions=SortedMapping(
        {
            P2: PartitionSpeed(1250.0, 1250.0, 10.0, 81260, 9918240, False),
            P10: PartitionSpeed(62.5, 62.5, 0.5, 7, None, True),
            OTHER: PartitionSpeed(0.0, 0.0, 0.0, 0, 0, False),
        }
    ),
)


def test_a_measurement_is_published_with_everything_a_reader_needs() -> None:
    meter = Meter()
    meter.take(
        Sample.of(
            5.0, {P2: PartitionSample(81240, 9915740), P10: PartitionSample(6, None), OTHER: PartitionSample(0, 0)}
        )
    )
    measured = meter.take(
        Sample.of(
            7.0, {P2: PartitionSample(81260, 9918240), P10: PartitionSample(7, None), OTHER: PartitionSample(0, 0)}
        )
    )
    assert measured is not None
    published = measured.to_measurement("2026-03-01T12:00:00.250Z")
    # orders-eu-10 was never readable and no other interval is known before this one: its bytes can't be told yet.
    unknown = replace(MEASUREMENT.partitions[P10], bytes_per_s=0.0, filtered_bytes_per_s=0.0)
    assert dict(published.partitions) == {**MEASUREMENT.partitions, P10: unknown}
    assert (published.time, published.window_s) == (MEASUREMENT.time, MEASUREMENT.window_s)


def test_the_bytes_on_the_topic_are_those_of_the_golden_file() -> None:
    assert encode(MEASUREMENT) == GOLDEN.read_bytes().rstrip(b"\n")


def test_what_was_encoded_is_decoded_to_the_same() -> None:
    assert decode(GOLDEN.read_bytes()) == MEASUREMENT


def test_a_reader_passes_over_keys_it_does_not_know() -> None:
    document = json.loads(GOLDEN.read_bytes())
    document["host"] = "a"
    document["topics"]["payments"]["0"]["skew"] = 3
    assert decode(json.dumps(document).encode()) == MEASUREMENT


def test_the_controller_packs_by_the_filtered_speeds() -> None:
    differing = Measurement("t", 30.0, SortedMapping({P2: PartitionSpeed(100.0, 90.0, 1.0, 5, 500, False)}))
    assert differing.speeds == Speeds({P2: 90.0})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 3}, "a measurement of version 3 can't be read; known are 1 and 2"),
        ({"time": 5}, "time is 5; it must be a time in UTC, like 2026-03-01T12:00:00.250Z"),
        ({"window_s": "30"}, "window_s is '30'; it must be a number, 0 or more"),
        ({"topics": [1]}, "topics is [1]; it must be an object"),
        (
            {"topics": {"a": {"x": {}}}},
            "'a-x' is not a partition; write the topic, a dash and the number, like orders-7",
        ),
        ({"topics": {"a": {"0": {}}}}, "topics.a.0.bytes_per_s is None; it must be a number, 0 or more"),
    ],
)
def test_an_invalid_record_is_rejected_with_its_place(change: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        decode(json.dumps({**json.loads(GOLDEN.read_bytes()), **change}).encode())
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("bytes_per_s", value) for value in (-1, True, "5", None, float("nan"))),
        *(("end_offset", value) for value in (-1, 1.5, None)),
        *(("size_bytes", value) for value in (-1, "big")),
        *(("estimated", value) for value in (1, "yes", None)),
    ],
)
def test_an_invalid_value_is_rejected(key: str, value: object) -> None:
    document = json.loads(GOLDEN.read_bytes())
    document["topics"]["payments"]["0"][key] = value
    with pytest.raises(InvalidInput, match=rf"topics\.payments\.0\.{key} is .*; it must be"):
        decode(json.dumps(document).encode())


@pytest.mark.parametrize("record", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_bytes_that_are_not_json_are_rejected(record: bytes) -> None:
    with pytest.raises(InvalidInput, match="a measurement must be JSON"):
        decode(record)


def test_a_stable_offset_is_sent_only_where_transactions_are_open() -> None:
    measured = MEASUREMENT.with_stable_offsets({P2: 81250, P10: 7, OTHER: 3})
    assert {partition: speed.stable_offset for partition, speed in measured.partitions.items()} == {
        P2: 81250,
        P10: None,
        OTHER: None,
    }
    assert [speed.readable_end for speed in measured.partitions.values()] == [81250, 7, 0]
    assert decode(encode(measured)) == measured
    assert encode(MEASUREMENT.with_stable_offsets({})) == encode(MEASUREMENT)
