"""Any bytes on any topic: a valid message, or reported once with their place and a reason.

100,000 seeded inputs: random bytes, golden files with bytes or fields changed, and headers and keys that lie.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from restow.protocol import measurement, measurement_parts
from restow.protocol.channels import CHANNELS, MONITOR, Channel, decode_measurement, decode_on
from restow.protocol.measurement import Measurement
from restow.protocol.measurement_parts import MeasurementPart
from restow.protocol.messages.unions import Message
from restow.protocol.records import LONGEST_REASON, SkippedRecords, Undecodable, decode, encode
from restow.protocol.versions import MESSAGES

INPUTS = 100_000
SEED = 20260301
PREFIX = "shop"

HERE = Path(__file__).parent
GOLDEN = [file.read_bytes().rstrip() for file in sorted((HERE / "golden" / "v1").iterdir())]
MEASUREMENTS = [(HERE / "golden" / f"measurement-v{version}.json").read_bytes().rstrip() for version in (1, 2)]
PLACES = [(channel, 3 if lane.partition == "i" else 0) for channel in CHANNELS for lane in channel.lanes]
BELONGING = {
    (channel.name, partition): MEASUREMENTS
    if channel is MONITOR
    else [
        text for text in GOLDEN if json.loads(text)["type"] in [kind.__name__ for kind in channel.expected(partition)]
    ]
    for channel, partition in PLACES
}
NAMES = [kind.__name__ for kind in MESSAGES]

NASTY: list[Any] = [
    *(None, True, False, 0, 1, -1, 2**31, 2**63 - 1, 2**63, 10**400, 0.5, -0.0, 1e308, float("nan"), float("inf")),
    *(
        "",
        "0",
        "recover",
        "orders",
        "\0",
        "\ud800",
        "x" * 500,
        "2026-03-01T12:00:00Z",
        "ä–😀",
        "..",
        "add",
        "consumers",
    ),
    *([], {}, [0], [0, 0], [[]], {"": {}}, {"orders": [1, 1]}, {"orders": {"0": 1}}, {"orders": {"00": 1}}, {"1": "2"}),
]
NASTY_TEXTS = [json.dumps(value) for value in NASTY]
DEEP = [
    *(b"[" * depth + b"]" * depth for depth in (100, 900, 5000)),
    *(b'{"a":' * depth + b"1" + b"}" * depth for depth in (100, 900, 5000)),
]
LONG_NUMBERS = [b"1" * 4000, b"1" * 5000, b"-" + b"9" * 400, b"1e999", b"0." + b"3" * 5000]


@dataclass(frozen=True, slots=True)
class Input:
    channel: Channel
    partition: int
    headers: Any
    key: bytes | None
    value: bytes | None


def random_bytes(dice: random.Random, _seed: bytes) -> bytes:
    return dice.randbytes(dice.randrange(80))


def random_json_letters(dice: random.Random, _seed: bytes) -> bytes:
    return bytes(dice.choices(b'{}[]:,"\\u0019eE+-.truefalsn \n', k=dice.randrange(60)))


def changed_bytes(dice: random.Random, seed: bytes) -> bytes:
    content = bytearray(seed)
    for _ in range(dice.randint(1, 3)):
        at = dice.randrange(len(content))
        match dice.randrange(4):
            case 0:
                content[at] = dice.randrange(256)
            case 1:
                del content[at : at + dice.randint(1, 8)]
            case 2:
                content[at:at] = dice.randbytes(dice.randint(1, 4))
            case _:
                content[at:at] = content[at : at + dice.randint(1, 20)]
        content = content or bytearray(b"0")
    return bytes(content)


def cut(dice: random.Random, seed: bytes) -> bytes:
    return seed[: dice.randrange(len(seed))]


def swollen(dice: random.Random, seed: bytes) -> bytes:
    """Something enormous in the place of a value, or of everything."""
    monster = dice.choice(DEEP + LONG_NUMBERS)
    places = [at for at, byte in enumerate(seed) if byte == ord(":")]
    at = dice.choice(places) + 1
    return monster if dice.random() < 0.1 else seed[:at] + monster + seed[at:].lstrip(b'0123456789"')


def doubled_key(dice: random.Random, seed: bytes) -> bytes:
    name: str = dice.choice(list(json.loads(seed)))
    return b'{"' + name.encode() + b'":1,' + seed[1:]


def changed_tree(dice: random.Random, seed: bytes) -> bytes:
    tree = json.loads(seed)
    for _ in range(dice.randint(1, 2)):
        holder = tree
        while True:
            key = dice.choice(list(holder)) if isinstance(holder, dict) else dice.randrange(len(holder))
            if not isinstance(holder[key], dict | list) or not holder[key] or dice.random() < 0.3:
                break
            holder = holder[key]
        match dice.randrange(5):
            case 0 if isinstance(holder, dict) and len(holder) > 1:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[dice.choice(["newer", "", "0", "-1", "orders", "type", "\ud800", "a" * 300])] = holder[key]
            case 2 if isinstance(holder[key], int) and not isinstance(holder[key], bool):
                holder[key] += dice.choice([-(10**6), -1, 1, 10**6])
            case 3 if isinstance(holder[key], str):
                holder[key] = dice.choice([*NAMES, "table", "remove", "change", "latest", holder[key] + "é"])
            case _:
                holder[key] = json.loads(dice.choice(NASTY_TEXTS))
    return json.dumps(tree, ensure_ascii=dice.random() < 0.7).encode(errors="surrogatepass")


def untouched(_dice: random.Random, seed: bytes) -> bytes:
    return seed


MAKERS: list[tuple[Callable[[random.Random, bytes], bytes], int]] = [
    *((random_bytes, 10), (random_json_letters, 10), (changed_bytes, 25), (cut, 5)),
    *((swollen, 3), (doubled_key, 3), (changed_tree, 40), (untouched, 10)),
]


def headers_of(dice: random.Random) -> Any:
    said = [("type", dice.choice(NAMES).encode()), ("version", b"1"), ("sender", b"x"), ("group", PREFIX.encode())]
    return dice.choice(
        [None, None, None, None, (), said, said * 2, [("type", None)], [("version", b"\xff")], [("x", "y")]]
    )


def inputs(dice: random.Random, count: int) -> Iterator[Input]:
    makers, weights = zip(*MAKERS, strict=True)
    for make in dice.choices(makers, weights, k=count):
        channel, partition = dice.choice(PLACES)
        seeds = GOLDEN if dice.random() < 0.1 and channel is not MONITOR else BELONGING[channel.name, partition]
        value = None if dice.random() < 0.01 else make(dice, dice.choice(seeds))
        key = dice.choice([None, None, None, b"orders", b":consumers", b"", b"\xff", b"a b"])
        yield Input(channel, partition, headers_of(dice), key, value)


def read(given: Input, offset: int) -> Message | Measurement | MeasurementPart | Undecodable:
    if given.channel is MONITOR:
        topic = MONITOR.topic(PREFIX)
        return decode_measurement(topic, given.partition, offset, given.headers, given.value, group=PREFIX)
    topic, place = given.channel.topic(PREFIX), (given.partition, offset)
    return decode_on(given.channel, topic, *place, given.headers, given.value, given.key, group=PREFIX)


def read_again(message: Message | Measurement | MeasurementPart) -> object:
    if isinstance(message, MeasurementPart):
        return decode_measurement("t", 0, 0, None, measurement_parts.encode(message), group=PREFIX)
    if isinstance(message, Measurement):
        return decode_measurement("t", 0, 0, None, measurement.encode(message), group=PREFIX)
    return decode("t", 0, 0, *encode(message, "x", PREFIX))


def examined(seed: int, count: int) -> tuple[Counter[type], Counter[str]]:
    """What was read, by type, and how many records were refused, by topic. Asserts what holds for each of them."""
    passed, seen, refused = SkippedRecords(), Counter[type](), Counter[str]()
    for offset, given in enumerate(inputs(random.Random(seed), count)):
        topic = given.channel.topic(PREFIX)
        result = read(given, offset)
        if isinstance(result, Undecodable):
            assert (result.topic, result.partition, result.offset) == (topic, given.partition, offset), given
            assert result.reason.isprintable(), given
            assert 0 < len(result.reason) <= LONGEST_REASON, given
            assert [passed.is_new(result), passed.is_new(result)] == [True, False]
            refused[topic] += 1
        else:
            kind = Measurement if isinstance(result, MeasurementPart) else type(result)
            assert kind in given.channel.expected(given.partition), given
            assert read_again(result) == result, given
            seen[type(result)] += 1
    assert seen.total() + refused.total() == count
    assert dict(passed.counts) == refused
    return seen, refused


@pytest.mark.slow
def test_any_bytes_on_any_topic_are_a_valid_message_or_are_reported_once_and_skipped() -> None:
    seen, refused = examined(SEED, INPUTS)
    # Not all is noise: each message was read in many guises, and each topic has refused many.
    assert set(seen) == {*MESSAGES, Measurement, MeasurementPart}
    assert min(seen.values()) > 150, seen
    assert min(refused[channel.topic(PREFIX)] for channel in CHANNELS if channel.lanes) > 5_000, refused
