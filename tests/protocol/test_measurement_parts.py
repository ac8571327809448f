"""Measurements that are too large for one record: parts, and how readers put them together."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from restow.errors import InvalidInput
from restow.model import SortedMapping, TopicPartition
from restow.protocol.channels import MONITOR, MeasurementReader
from restow.protocol.measurement import Measurement, PartitionSpeed, encode, headers_of
from restow.protocol.measurement_parts import (
    LARGEST_PART_BYTES,
    MOST_OPEN,
    Assembly,
    MeasurementPart,
    MeasurementRecord,
    decode,
    decode_closely,
    is_last_part,
    records_of,
)
from restow.protocol.measurement_parts import encode as encode_part

GOLDEN = Path(__file__).parent / "golden" / "measurement-v2.json"
GROUP, TOPIC = "shop", MONITOR.topic("shop")
HEADERS = headers_of("monitor-1", GROUP)
WIDEST = PartitionSpeed(1e300 / 3, 1e300 / 3, 1e300 / 3, 2**63, 2**63, True, 2**63 - 1)


def measured(partitions: int, second: int = 0, topic: str = "orders") -> Measurement:
    rows = {TopicPartition(topic, number): speed(number) for number in range(partitions)}
    return Measurement(f"2026-03-01T12:00:{second:02}.250Z", 30.0, SortedMapping(rows))


def speed(number: int) -> PartitionSpeed:
    return PartitionSpeed(1250.5 + number, 1248.25, 10.2, 81240 + number, 9918240, False)


def parts_of(measurement: Measurement, name: str = "monitor-1/1", largest: int = 2000) -> list[MeasurementPart]:
    found = [decode(record.value) for record in records_of(measurement, name, HEADERS, largest)]
    assert all(isinstance(part, MeasurementPart) for part in found)
    return [part for part in found if isinstance(part, MeasurementPart)]


def read(reader: MeasurementReader, record: MeasurementRecord, offset: int = 7) -> object:
    headers = [(name, text.encode()) for name, text in record.headers.items()]
    return reader.read(TOPIC, 0, offset, headers, record.value)


def test_a_measurement_that_fits_is_one_record_as_ever() -> None:
    for count in (0, 1, 2000):
        assert records_of(measured(count), "monitor-1/1", HEADERS) == ((HEADERS, encode(measured(count))),)


def test_a_larger_one_has_parts_that_any_broker_takes() -> None:
    records = records_of(measured(20_000), "monitor-1/1", HEADERS)
    assert len(records) > 5
    assert max(len(record.value) for record in records) <= LARGEST_PART_BYTES
    assert [record.headers["part"] for record in records] == [f"{part}/{len(records)}" for part in range(len(records))]
    assert {record.headers["version"] for record in records} == {"2"}
    reader = MeasurementReader(GROUP)
    *before, last = [read(reader, record) for record in records]
    assert before == [None] * len(before)
    assert last == measured(20_000)


def test_parts_are_small_enough_whatever_the_topics_are_called() -> None:
    long = {TopicPartition(f"{number:0249}", 0): WIDEST for number in range(300)}
    measurement = Measurement("2026-03-01T12:00:00.250Z", 30.0, SortedMapping(long))
    records = records_of(measurement, "monitor-1/1", HEADERS, 20_000)
    assert max(len(record.value) for record in records) <= 20_000
    assert dict(joined(parts_of(measurement, largest=20_000)).partitions) == long


def joined(parts: list[MeasurementPart]) -> Measurement:
    assembly = Assembly()
    *_, whole = [assembly.take(part) for part in parts]
    assert whole is not None
    return whole


def test_a_part_is_that_of_the_golden_file() -> None:
    part = MeasurementPart("monitor-3f9a11c2/17", 0, 2, measured(2))
    assert encode_part(part) == GOLDEN.read_bytes().rstrip(b"\n")
    assert decode(GOLDEN.read_bytes()) == part


@pytest.mark.parametrize("seed", range(20))
def test_parts_of_two_monitors_may_come_between_each_other_and_in_any_order(seed: int) -> None:
    dice = random.Random(seed)
    ours, theirs = measured(60, 1), measured(60, 2, "clicks")
    parts = [*parts_of(ours), *parts_of(theirs, "monitor-2/1")]
    dice.shuffle(parts)
    assembly = Assembly()
    found = [whole for part in parts if (whole := assembly.take(part)) is not None]
    assert sorted(found, key=lambda each: each.time) == [ours, theirs]


def test_an_incomplete_measurement_is_never_used() -> None:
    first, second = parts_of(measured(60, 1), "monitor-1/1"), parts_of(measured(60, 2), "monitor-1/2")
    assembly = Assembly()
    assert [assembly.take(part) for part in first[:-1]] == [None] * (len(first) - 1)
    assert [assembly.take(part) for part in second][-1] == measured(60, 2)
    assert assembly.take(first[-1]) == measured(60, 1), "a late part completes its own measurement"


def test_a_repeated_part_counts_once() -> None:
    parts = parts_of(measured(60))
    assembly = Assembly()
    assert [assembly.take(parts[0]) for _ in range(len(parts))] == [None] * len(parts)
    assert [assembly.take(part) for part in parts[1:]][-1] == measured(60)


def test_parts_of_two_measurements_with_one_name_are_not_mixed() -> None:
    first, second = parts_of(measured(60, 1)), parts_of(measured(60, 2))
    assembly = Assembly()
    assert [assembly.take(part) for part in (*first[:-1], second[-1])] == [None] * len(first)
    assert [assembly.take(part) for part in second[:-1]][-1] == measured(60, 2)


def test_few_incomplete_measurements_are_kept() -> None:
    assembly = Assembly()
    oldest = parts_of(measured(60), "monitor-1/0")
    for part in oldest[:-1]:
        assembly.take(part)
    for number in range(1, MOST_OPEN + 1):
        assembly.take(parts_of(measured(60), f"monitor-1/{number}")[0])
    assert assembly.take(oldest[-1]) is None, "it was forgotten"


def test_parts_of_another_group_are_skipped() -> None:
    reader = MeasurementReader("lake")
    for record in records_of(measured(60), "monitor-1/1", HEADERS, 2000):
        assert read(reader, record) is not None, "foreign"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"measurement": ""}, "measurement is ''; it must be the measurement's name"),
        ({"measurement": None}, "measurement is None; it must be the measurement's name"),
        ({"part": 2}, "part 2 of 2 can't be; parts count from 0, and there are at most 10,000"),
        ({"parts": 10**9}, "part 0 of 1000000000 can't be; parts count from 0, and there are at most 10,000"),
        ({"part": True}, "part is True; it must be a whole number, 0 or more"),
        ({"parts": -1}, "parts is -1; it must be a whole number, 0 or more"),
        ({"version": 3}, "a measurement of version 3 can't be read; known are 1 and 2"),
    ],
)
def test_an_invalid_part_is_refused(change: dict[str, object], reason: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        decode(json.dumps({**json.loads(GOLDEN.read_bytes()), **change}).encode())
    assert str(caught.value) == reason


@pytest.mark.parametrize("seed", range(20))
def test_the_usual_decoder_takes_nothing_that_a_close_look_refuses(seed: int) -> None:
    dice, golden = random.Random(seed), GOLDEN.read_bytes()
    for _ in range(100):
        changed = bytearray(golden)
        for _ in range(dice.randint(1, 3)):
            place = dice.randrange(len(changed))
            changed[place : place + dice.randint(0, 2)] = dice.choice(
                (b"", b"0", b"-1", b"1e9", b'"', b"null", b"9" * 12)
            )
        assert outcome(decode, bytes(changed)) == outcome(decode_closely, bytes(changed))


def outcome(decoder: Callable[[bytes], object], record: bytes) -> object:
    try:
        return decoder(record)
    except InvalidInput as refused:
        return str(refused)


def test_the_header_tells_the_last_part() -> None:
    told = [is_last_part(header) for header in (None, "0/1", "26/27")]
    assert told == [True, True, True]
    assert not any(is_last_part(header) for header in ("0/27", "25/27", "27/27", "", "a/b", "1", "-1/0"))
