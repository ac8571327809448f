"""Values to plain JSON and back, and the errors for invalid input."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal

import pytest

from restow.errors import InvalidInput
from restow.model import Assignment, ConsumerId, SortedMapping, Speeds, TopicPartition
from restow.protocol.codec import from_plain, to_plain
from restow.protocol.json_text import as_json, parse_json

O0, O1, C2 = TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("clicks", 2)
ONE, TWO = ConsumerId(1), ConsumerId(2)


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


@dataclass(frozen=True, slots=True)
class Leaf:
    number: int

    def __post_init__(self) -> None:
        if self.number < 0:
            raise InvalidInput(f"number is {self.number}; it must be 0 or more")


@dataclass(frozen=True, slots=True)
class Flower:
    petals: int = 5


@dataclass(frozen=True, slots=True)
class Tree:
    name: str
    height_m: float
    is_green: bool
    consumer: ConsumerId
    colour: Colour
    kind: Literal["oak", "elm"]
    best: Leaf
    grown: Leaf | Flower | None
    partition: TopicPartition
    partitions: tuple[TopicPartition, ...]
    leaves: tuple[Leaf, ...]
    offsets: SortedMapping[TopicPartition, int | Literal["recover"]]
    by_name: SortedMapping[str, Leaf]
    by_consumer: SortedMapping[ConsumerId, float]
    speeds: Speeds
    assignment: Assignment
    group: frozenset[ConsumerId]
    by_topic: Mapping[str, int]
    note: str | None = None
    more: SortedMapping[str, str] = field(default_factory=SortedMapping)


OFFSETS: dict[TopicPartition, int | Literal["recover"]] = {O1: 7, C2: "recover", O0: 0}
TREE = Tree(
    name="Ulme – groß",
    height_m=12,
    is_green=True,
    consumer=TWO,
    colour=Colour.GREEN,
    kind="elm",
    best=Leaf(1),
    grown=Flower(4),
    partition=TopicPartition("orders-eu", 7),
    partitions=(C2, O0, O1),
    leaves=(Leaf(3), Leaf(2)),
    offsets=SortedMapping(OFFSETS),
    by_name=SortedMapping({"b": Leaf(2), "a": Leaf(1)}),
    by_consumer=SortedMapping({ConsumerId(10): 1.5, TWO: 2.0}),
    speeds=Speeds({O1: 2.5, TopicPartition("orders", 10): 0}),
    assignment=Assignment({O0: ONE, C2: ONE}, idle=[TWO]),
    group=frozenset({TWO, ONE, ConsumerId(10)}),
    by_topic=SortedMapping({"b": 2, "a": 1}),
)
PLAIN = {
    "name": "Ulme – groß",
    "height_m": 12.0,
    "is_green": True,
    "consumer": 2,
    "colour": "green",
    "kind": "elm",
    "best": {"number": 1},
    "grown": {"type": "Flower", "petals": 4},
    "partition": "orders-eu-7",
    "partitions": {"clicks": [2], "orders": [0, 1]},
    "leaves": [{"number": 3}, {"number": 2}],
    "offsets": {"clicks": {"2": "recover"}, "orders": {"0": 0, "1": 7}},
    "by_name": {"a": {"number": 1}, "b": {"number": 2}},
    "by_consumer": {"2": 2.0, "10": 1.5},
    "speeds": {"orders": {"1": 2.5, "10": 0.0}},
    "assignment": {"1": {"clicks": [2], "orders": [0]}, "2": {}},
    "group": [1, 2, 10],
    "by_topic": {"a": 1, "b": 2},
    "note": None,
    "more": {},
}


def test_every_type_has_a_form_that_a_person_can_read() -> None:
    assert to_plain(TREE) == PLAIN


def test_the_order_of_what_is_written_is_that_of_the_values() -> None:
    assert as_json(to_plain(TREE)) == as_json(PLAIN)


def test_a_mapping_that_has_no_order_is_written_in_one() -> None:
    assert as_json(to_plain(replace(TREE, by_topic={"b": 2, "a": 1}))) == as_json(PLAIN)


def test_what_was_written_is_read_as_the_same() -> None:
    assert from_plain(Tree, parse_json(as_json(PLAIN))) == TREE


def test_unknown_keys_are_ignored_and_defaults_fill_in() -> None:
    plain = {key: value for key, value in PLAIN.items() if key not in ("note", "more")}
    assert from_plain(Tree, {**plain, "newer": {"x": 1}, "best": {"number": 1, "newer": 2}}) == TREE


def test_an_int_is_taken_where_a_float_is_wanted_and_becomes_one() -> None:
    read = from_plain(Tree, {**PLAIN, "height_m": 12})
    assert (read, type(read.height_m)) == (TREE, float)


def test_partitions_come_back_in_order_whatever_the_order_they_are_written_in() -> None:
    plain = {**PLAIN, "partitions": {"orders": [1, 0], "clicks": [2]}}
    assert from_plain(Tree, plain) == TREE


def test_one_of_several_classes_has_its_name_only_where_its_type_is_a_union() -> None:
    assert to_plain(Flower(3)) == {"petals": 3}
    assert to_plain(Flower(3), Leaf | Flower) == {"type": "Flower", "petals": 3}
    assert from_plain(Leaf | Flower, {"type": "Leaf", "number": 3}) == Leaf(3)


def test_the_place_in_an_error_starts_with_the_caller_s_prefix() -> None:
    with pytest.raises(InvalidInput) as refused:
        from_plain(Leaf, {"number": True}, where="line 7")
    assert str(refused.value) == "line 7.number is true; it must be a whole number"


def test_a_type_without_a_form_is_a_bug_and_no_input() -> None:
    with pytest.raises(TypeError, match="has no form in JSON"):
        to_plain({1, 2})


@dataclass(frozen=True, slots=True)
class Ambiguous:
    type: str


def test_ambiguous_members_of_a_union_are_a_bug() -> None:
    with pytest.raises(TypeError, match="are ambiguous"):
        to_plain(Flower(), Flower | Ambiguous)


HUGE = 10**400


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 5}, "name is 5; it must be text"),
        ({"name": "\ud800"}, 'name is "\\ud800"; it must be text of whole characters'),
        ({"note": 5}, "note is 5; it must be text"),
        ({"height_m": True}, "height_m is true; it must be a number"),
        ({"height_m": float("nan")}, "height_m is NaN; it must be a number"),
        ({"height_m": float("inf")}, "height_m is Infinity; it must be a number"),
        ({"height_m": HUGE}, "height_m is a whole number of 1329 bits; it must be below 2^63"),
        ({"height_m": "12"}, 'height_m is "12"; it must be a number'),
        ({"is_green": 1}, "is_green is 1; it must be true or false"),
        ({"is_green": None}, "is_green is null; it must be true or false"),
        ({"consumer": 0}, "consumer is 0; it must be a consumer's number, 1 or more"),
        ({"colour": "blue"}, 'colour is "blue"; it must be one of red, green'),
        ({"colour": []}, "colour is an array; it must be one of red, green"),
        ({"kind": "fir"}, 'kind is "fir"; it must be "oak" or "elm"'),
        ({"best": 3}, "best is 3; it must be an object, a Leaf"),
        ({"best": {}}, "best.number is missing; it must be given: a whole number"),
        ({"best": {"number": True}}, "best.number is true; it must be a whole number"),
        ({"best": {"number": 1.0}}, "best.number is 1.0; it must be a whole number"),
        ({"best": {"number": 2**63}}, "best.number is a whole number of 64 bits; it must be below 2^63"),
        ({"best": {"number": HUGE}}, "best.number is a whole number of 1329 bits; it must be below 2^63"),
        ({"best": {"number": -1}}, "best.number is -1; it must be 0 or more"),
        ({"grown": {"type": "Root"}}, 'grown.type is "Root"; it must be one of Leaf, Flower'),
        ({"grown": {"type": []}}, "grown.type is an array; it must be one of Leaf, Flower"),
        ({"grown": {}}, "grown.type is null; it must be one of Leaf, Flower"),
        ({"grown": "Leaf"}, 'grown is "Leaf"; it must be an object, one of Leaf, Flower'),
        ({"grown": {"type": "Leaf", "number": -2}}, "grown.number is -2; it must be 0 or more"),
        ({"partition": "orders"}, 'partition is "orders"; it must be a partition, like orders-7'),
        ({"partition": "a b-7"}, 'partition is "a b-7"; it must be a partition, like orders-7'),
        ({"partition": "a-2147483648"}, 'partition is "a-2147483648"; it must be a partition, like orders-7'),
        ({"partitions": [1]}, 'partitions is an array; it must be partitions by topic, like {"orders": [0, 1]}'),
        ({"partitions": {"a": 1}}, "partitions.a is 1; it must be an array of numbers, like [0, 1]"),
        ({"partitions": {"a": [0, -1]}}, "partitions.a[1] is -1; it must be a partition's number, 0 or more"),
        ({"partitions": {"a": [False]}}, "partitions.a[0] is false; it must be a partition's number, 0 or more"),
        ({"partitions": {"a": [1, 1]}}, "partitions.a has a partition twice; each must be there once"),
        (
            {"partitions": {"a\n": []}},
            'partitions."a\\n" is no topic; it must be a topic\'s name: letters, digits, dots, dashes, underscores',
        ),
        (
            {"partitions": {"..": []}},
            "partitions... is no topic; it must be a topic's name: letters, digits, dots, dashes, underscores",
        ),
        ({"leaves": {}}, "leaves is an object; it must be an array, each element a Leaf"),
        ({"leaves": [{"number": 1}, {}]}, "leaves.1.number is missing; it must be given: a whole number"),
        (
            {"offsets": []},
            (
                'offsets is an array; it must be an object: a whole number or "recover" for each partition, '
                "like {topic: {number: …}}"
            ),
        ),
        (
            {"offsets": {"a": 1}},
            'offsets.a is 1; it must be an object: a whole number or "recover" for each partition',
        ),
        ({"offsets": {"a": {"0": "x"}}}, 'offsets.a.0 is "x"; it must be a whole number or "recover"'),
        ({"offsets": {"a": {"00": 1}}}, "offsets.a.00 is no partition; it must be a partition's number, 0 or more"),
        ({"offsets": {"a": {"-1": 1}}}, "offsets.a.-1 is no partition; it must be a partition's number, 0 or more"),
        ({"offsets": {"a": {"²": 1}}}, "offsets.a.² is no partition; it must be a partition's number, 0 or more"),
        ({"by_name": []}, "by_name is an array; it must be an object: a Leaf for each name"),
        ({"by_name": {"a": {"number": "x"}}}, 'by_name.a.number is "x"; it must be a whole number'),
        ({"by_name": {"\udfff": {}}}, 'by_name."\\udfff" is "\\udfff"; it must be text of whole characters'),
        ({"by_consumer": {"0": 1}}, "by_consumer.0 is 0; it must be a consumer's number, 1 or more"),
        ({"by_consumer": {"01": 1}}, 'by_consumer.01 is "01"; it must be a consumer\'s number, 1 or more'),
        ({"speeds": {"a": {"0": -0.5}}}, "speeds.a.0 is -0.5; it must be a number, 0 or more"),
        ({"assignment": 1}, "assignment is 1; it must be an object: partitions by topic for each consumer"),
        ({"assignment": {"1": {"a": [-1]}}}, "assignment.1.a[0] is -1; it must be a partition's number, 0 or more"),
        (
            {"assignment": {"1": {"a": [0]}, "2": {"a": [0]}}},
            "assignment can't be: a-0 is given to consumer 1 and to consumer 2; a partition has one consumer",
        ),
    ],
)
def test_invalid_input_is_reported_with_its_place_its_value_and_what_would_be_right(
    change: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        from_plain(Tree, {**PLAIN, **change})
    assert str(refused.value) == message


def test_a_long_value_is_shown_in_part() -> None:
    with pytest.raises(InvalidInput) as refused:
        from_plain(Leaf, {"number": "x" * 100_000})
    assert str(refused.value) == f'number is "{"x" * 58}…; it must be a whole number'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "character 0 is not JSON (expecting value)"),
        (b'{"a": 1} 2', "character 9 is not JSON (extra data)"),
        (b"\xef\xbb\xbf{}", "character 0 is not JSON (expecting value)"),
        (b'"\xff"', "byte 1 is not UTF-8; it must be JSON in UTF-8"),
        (b'{"a": NaN}', "the JSON holds NaN; numbers must be finite"),
        (b"[-Infinity]", "the JSON holds -Infinity; numbers must be finite"),
        (b'[{"a": 1, "b": 2, "b": 2}]', "the JSON has 'b' twice in one object; it must be there once"),
        (b"[" * 100_000, "the JSON is nested too deeply to be read"),
        (b'{"a":' * 100_000, "the JSON is nested too deeply to be read"),
        (b"9" * 100_000, "the JSON holds a number that is too long to be read"),
    ],
)
def test_json_that_is_not_strict_is_rejected(content: bytes, message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_json(content)
    assert str(refused.value) == message


def test_a_lone_surrogate_is_written_as_a_question_mark() -> None:
    assert as_json({"reason": "caf\udce9"}) == b'{"reason":"caf?"}'
