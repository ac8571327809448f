"""Messages as Kafka records: the bytes that are agreed for ever, versions that grow, and records that can't be read."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from restow.errors import InvalidInput
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.codec import from_plain
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.examples import CONSUMERS_UPDATE, EXAMPLES, IN_VERSION_2, IN_VERSION_3, REPORT_WITH_WORK
from restow.protocol.messages.commands import StateQuery, StopConsumingCommand
from restow.protocol.messages.desired import ConsumerRestart, GroupPause, PartitionPin, RecommendOnly
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.messages.unions import Message
from restow.protocol.records import (
    VERSIONS,
    Foreign,
    SkippedRecords,
    Undecodable,
    common_version,
    decode,
    encode,
    key_of,
    known_versions,
)
from restow.protocol.versions import CURRENT, MESSAGES, Version

V1 = Path(__file__).parent / "golden" / "v1"
"""Made when version 1 was, and never changed: records of that time are on topics and are sent by those who are late."""

WRITTEN_IN_V1 = {
    **{type(message).__name__: message for message in EXAMPLES},
    "ConsumerReport-work": REPORT_WITH_WORK,
    "ServiceUpdate-consumers": CONSUMERS_UPDATE,
}

LATER = {
    f"v{number}/{type(message).__name__}": message
    for number, messages in ((2, IN_VERSION_2), (3, IN_VERSION_3))
    for message in messages
}
"""By their golden files."""

QUERY = StateQuery(epoch=812, query=1)
HEADERS, VALUE = encode(QUERY, "controller", "lake")


def refusal(
    value: bytes | None, headers: Any = None, key: bytes | None = None, expected: tuple[type, ...] | None = None
) -> str:
    read = decode("t", 3, 7, headers, value, key, expected=expected)
    assert isinstance(read, Undecodable)
    assert (read.topic, read.partition, read.offset) == ("t", 3, 7)
    return read.reason


def changed(**fields: object) -> bytes:
    return json.dumps({**json.loads(VALUE), **fields}).encode()


def test_every_message_has_a_golden_file_of_version_1() -> None:
    assert {file.stem for file in V1.iterdir()} == set(WRITTEN_IN_V1)
    assert {type(message) for message in WRITTEN_IN_V1.values()} == set(MESSAGES)


@pytest.mark.parametrize("name", WRITTEN_IN_V1)
def test_the_bytes_of_version_1_stay_what_they_were(name: str) -> None:
    _, value = encode(WRITTEN_IN_V1[name], "anybody", "lake", version=1)
    assert value == (V1 / f"{name}.json").read_bytes().rstrip(b"\n")


@pytest.mark.parametrize("name", WRITTEN_IN_V1)
def test_records_of_version_1_stay_readable(name: str) -> None:
    assert decode("t", 0, 0, None, (V1 / f"{name}.json").read_bytes()) == WRITTEN_IN_V1[name]


@pytest.mark.parametrize("name", LATER)
def test_what_an_older_version_can_t_say_is_written_in_the_next(name: str) -> None:
    message, golden = LATER[name], (V1.parent / f"{name}.json").read_bytes().rstrip(b"\n")
    headers, value = encode(message, "anybody", "lake")
    assert (dict(headers)["version"], value) == (name[1].encode(), golden)
    assert decode("t", 0, 0, None, golden) == message


@pytest.mark.parametrize("name", LATER)
def test_a_reader_of_an_older_version_skips_it_and_gets_what_it_understands_in_version_1(name: str) -> None:
    kind, older = name[3:], {kind.__name__: int(name[1]) - 1 for kind in MESSAGES}
    assert common_version(LATER[name], older) is None
    assert common_version(WRITTEN_IN_V1[kind], older) == 1
    assert common_version(WRITTEN_IN_V1[kind], known_versions()) == 1, "its bytes stay what they were"
    headers, _ = encode(WRITTEN_IN_V1[kind], "anybody", "lake")
    assert dict(headers)["version"] == b"1"


def test_a_record_has_its_type_in_the_headers_and_in_the_value() -> None:
    assert encode(QUERY, "controller", "lake") == (
        (("type", b"StateQuery"), ("version", b"1"), ("sender", b"controller"), ("group", b"lake")),
        b'{"type":"StateQuery","version":1,"epoch":812,"query":1}',
    )


@pytest.mark.parametrize(
    "headers", [None, (), HEADERS, list(HEADERS), HEADERS[:1], (*HEADERS, ("traceparent", None), ("traceparent", "x"))]
)
def test_headers_may_be_missing_and_those_of_others_are_not_looked_at(headers: Any) -> None:
    assert decode("t", 3, 7, headers, VALUE) == QUERY


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ([("type", b"StateQuery")] * 2, "the header type is given twice; it must be given once"),
        ([("type", None)], "the header type has no bytes; it must be text in UTF-8"),
        ([("sender", "text")], "the header sender has no bytes; it must be text in UTF-8"),
        ([("version", b"\xff")], "b'\\xff' is not UTF-8; it must be text in UTF-8"),
        ([("type", b"StateQuer")], 'the header type is "StateQuer"; it must be StateQuery, as in the value'),
        ([("version", b"2")], 'the header version is "2"; it must be 1, as in the value'),
    ],
)
def test_headers_that_contradict_the_value_or_themselves_are_rejected(headers: Any, reason: str) -> None:
    assert refusal(VALUE, headers) == reason


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "there is no value; it must be a message"),
        (b"", "character 0 is not JSON (expecting value)"),
        (b"\xff\xfe", "byte 0 is not UTF-8; it must be JSON in UTF-8"),
        (b"[" * 1_000_000, "the JSON is nested too deeply to be read"),
        (b"1" * 1_000_000, "the JSON holds a number that is too long to be read"),
        (b"[]", "the value is an array; it must be an object, a message"),
        (b"{}", "type is null; it must be the name of a message"),
        (changed(type="Message"), 'type is "Message"; it must be the name of a message'),
        (changed(type=["StateQuery"]), "type is an array; it must be the name of a message"),
        (changed(version=None), "version of StateQuery is null; it must be 1"),
        (changed(version=2), "version of StateQuery is 2; it must be 1"),
        (changed(version=True), "version of StateQuery is true; it must be 1"),
        (changed(version=1.0), "version of StateQuery is 1.0; it must be 1"),
        (changed(epoch=True), "epoch is true; it must be a whole number"),
        (changed(epoch=-1), "epoch is -1; it must be 0 or more"),
        (changed(epoch=10**4000), "epoch is a whole number of 13288 bits; it must be below 2^63"),
        (changed(epoch="\ud800"), 'epoch is "\\ud800"; it must be a whole number'),
    ],
)
def test_an_invalid_record_is_reported_with_its_place_and_a_reason(value: bytes | None, reason: str) -> None:
    assert refusal(value) == reason


def test_a_reason_is_one_short_line_whatever_is_in_the_record() -> None:
    service = {"start": "new\nline\ud800" + "x" * 100_000}
    update = {"type": "ServiceUpdate", "version": 1, "action": "add", "topic": "a", "service": service}
    reason = refusal(json.dumps(update).encode())
    assert reason == 'service.start is "new\\nline\\ud800' + "x" * 43 + "…; it must be text of whole characters"
    service["start"] = "new\nline" + "x" * 100_000
    reason = refusal(json.dumps(update).encode())
    assert reason == ("service.start is 'new line" + "x" * 1000)[:300]


def test_a_message_that_does_not_belong_here_is_rejected() -> None:
    assert decode("t", 3, 7, None, VALUE, expected=(StateQuery,)) == QUERY
    assert refusal(VALUE, expected=(StopConsumingCommand,)) == "a StateQuery does not belong here"


def test_a_skipped_record_is_named_with_its_place() -> None:
    assert str(Undecodable("queries", 3, 7, "there is no value")) == (
        "queries-3 at offset 7 was skipped: there is no value"
    )


@pytest.mark.parametrize(
    ("update", "key"),
    [
        (ServiceUpdate("remove", "orders"), b"orders"),
        (CONSUMERS_UPDATE, b":consumers"),
        (GroupPause(True), b":pause"),
        (GroupPause(False, by="anna@host-a", reason="done"), b":pause"),
        (RecommendOnly(True), b":recommend"),
        (ConsumerRestart(ConsumerId(12), 790), b":restart:12"),
        (PartitionPin(TopicPartition("my-orders", 7), ConsumerId(2), "2026-03-01T12:00:00Z"), b":pin:my-orders-7"),
        (QUERY, None),
    ],
)
def test_the_key_is_what_an_update_is_about(update: Message, key: bytes | None) -> None:
    _, value = encode(update, "a person", "lake")
    assert key_of(update) == key
    assert decode("t", 0, 0, None, value, key) == update


def test_an_update_under_a_wrong_key_is_rejected_since_compaction_could_remove_it() -> None:
    _, value = encode(ServiceUpdate("remove", "orders"), "a person", "lake")
    assert refusal(value, key=b"clicks") == 'the key is "clicks"; it must be orders'
    assert refusal(value, key=b"\xff") == "b'\\xff' is not UTF-8; it must be text in UTF-8"


def test_a_tombstone_resets_its_key() -> None:
    assert decode("t", 0, 0, None, None, b"orders") == ServiceUpdate("reset", "orders")
    assert decode("t", 0, 0, None, None, b":consumers") == ServiceUpdate("consumers", consumers=ConsumerSettings())
    assert decode("t", 0, 0, None, None, b":pause") == GroupPause(False)
    assert decode("t", 0, 0, None, None, b":recommend") == RecommendOnly(False)
    assert decode("t", 0, 0, None, None, b":restart:12") == ConsumerRestart(ConsumerId(12), None)
    assert decode("t", 0, 0, None, None, b":pin:a-b-7") == PartitionPin(TopicPartition("a-b", 7), None)


def test_a_tombstone_without_a_valid_key_or_elsewhere_is_rejected() -> None:
    assert refusal(None, key=b"") == "there is no value; it must be a message"
    assert refusal(None, key=b"a b") == "topic is 'a b'; it must be a topic's name"
    assert refusal(None, key=b"\xff") == "b'\\xff' is not UTF-8; it must be text in UTF-8"
    for key in (b":", b":paused", b":restart:0", b":restart:02", b":restart:x", b":restart:"):
        assert refusal(None, key=key).startswith(f"the key is '{key.decode()}'; it must be a topic's name, :consumers,")
    assert refusal(None, key=b":pin:a b-7") == "partition is 'a b-7'; it must be a partition, like orders-7"
    for name in ("a-07", "orders"):
        assert refusal(None, key=f":pin:{name}".encode()).startswith(f"'{name}' is not a partition; write the topic,")
    assert refusal(None, key=b"orders", expected=(StateQuery,)) == "a ServiceUpdate does not belong here"


def test_all_messages_are_known_in_version_1_and_some_in_later_ones() -> None:
    later = {**dict.fromkeys(map(type, IN_VERSION_2), 2), **dict.fromkeys(map(type, IN_VERSION_3), 3)}
    assert {**dict.fromkeys(MESSAGES, 1), **later} == VERSIONS
    assert known_versions() == SortedMapping({kind.__name__: later.get(kind, 1) for kind in MESSAGES})


def test_a_sender_uses_the_highest_version_that_both_sides_know() -> None:
    assert common_version(QUERY, {"StateQuery": 1}) == 1
    assert common_version(QUERY, {"StateQuery": 7, "Later": 2}) == 1
    assert common_version(QUERY, {"StopConsumingCommand": 1}) is None


def test_an_unknown_version_is_not_sent() -> None:
    with pytest.raises(InvalidInput, match=r"there is no version 2 of StateQuery; known: 1"):
        encode(QUERY, "controller", "lake", version=2)


def write_query_v2(query: StateQuery) -> dict[str, Any]:
    return {"asked_by": query.epoch, "query": {"number": query.query}}


def read_query_v2(plain: dict[str, Any]) -> StateQuery:
    return StateQuery(
        from_plain(int, plain.get("asked_by"), "asked_by"), from_plain(int, plain["query"]["number"], "query")
    )


class TestAVersion2:
    later = CURRENT.with_version(StateQuery, 2, Version(write_query_v2, read_query_v2))
    value = b'{"type":"StateQuery","version":2,"asked_by":812,"query":{"number":1}}'

    def test_is_what_a_newer_program_sends_and_reads(self) -> None:
        headers, value = encode(QUERY, "controller", "lake", versions=self.later)
        assert (dict(headers)["version"], value) == (b"2", self.value)
        assert decode("t", 3, 7, headers, value, versions=self.later) == QUERY

    def test_is_not_sent_to_those_who_know_version_1_alone(self) -> None:
        common = self.later.common(QUERY, known_versions())
        assert common == 1
        assert encode(QUERY, "controller", "lake", common, versions=self.later) == encode(QUERY, "controller", "lake")

    def test_is_sent_to_those_who_know_it(self) -> None:
        assert self.later.known() == SortedMapping({**known_versions(), "StateQuery": 2})
        assert self.later.common(QUERY, self.later.known()) == 2

    def test_leaves_version_1_readable(self) -> None:
        assert decode("t", 3, 7, HEADERS, VALUE, versions=self.later) == QUERY

    def test_that_is_unknown_is_reported_with_the_known_ones(self) -> None:
        value = b'{"type":"StateQuery","version":3,"epoch":1,"query":1}'
        read = decode("t", 3, 7, None, value, versions=self.later)
        assert read == Undecodable("t", 3, 7, "version of StateQuery is 3; it must be 1 or 2")

    def test_is_skipped_by_an_older_program(self) -> None:
        assert refusal(self.value) == "version of StateQuery is 2; it must be 1"

    def test_that_is_invalid_is_reported_by_its_own_reader(self) -> None:
        value = b'{"type":"StateQuery","version":2,"asked_by":"x","query":{"number":1}}'
        read = decode("t", 3, 7, None, value, versions=self.later)
        assert read == Undecodable("t", 3, 7, 'asked_by is "x"; it must be a whole number')


class TestARecordOfAnotherGroup:
    def test_is_foreign_and_named_with_its_sender(self) -> None:
        read = decode("t", 3, 7, HEADERS, VALUE, group="sea")
        assert isinstance(read, Foreign)
        assert read.group == "lake"
        assert str(read) == (
            't-3 at offset 7 was skipped: it is of the group "lake", sent by "controller", and not of sea; give each '
            "group topics of its own"
        )

    def test_is_foreign_even_if_this_program_could_not_decode_it(self) -> None:
        assert isinstance(decode("t", 3, 7, HEADERS, b"{", group="sea"), Foreign)
        assert isinstance(decode("t", 3, 7, [("group", b"lake")], None, b"orders", group="sea"), Foreign)

    def test_is_read_by_its_own_group(self) -> None:
        assert decode("t", 3, 7, HEADERS, VALUE, group="lake") == QUERY

    @pytest.mark.parametrize("headers", [None, (), HEADERS[:3]])
    def test_is_not_one_that_names_no_group_as_older_senders_and_people_write(self, headers: Any) -> None:
        assert decode("t", 3, 7, headers, VALUE, group="sea") == QUERY

    def test_is_reported_once_on_a_topic_and_counted_each_time(self) -> None:
        skipped = SkippedRecords()
        record = Foreign("t", 0, 7, "why", "lake")
        others = [replace(record, offset=8), replace(record, partition=1)]
        new = [replace(record, topic="u"), replace(record, group="pond", offset=9)]
        assert [skipped.is_new(each) for each in (record, record, *others, *new)] == [True] + [False] * 3 + [True] * 2
        assert skipped.counts == SortedMapping({"t": 4, "u": 1})


class TestSkippedRecords:
    def test_reports_and_counts_a_record_once_however_often_it_is_read(self) -> None:
        passed = SkippedRecords()
        record = Undecodable("t", 0, 7, "why")
        assert [passed.is_new(record) for _ in range(3)] == [True, False, False]
        assert passed.counts == SortedMapping({"t": 1})

    def test_knows_records_of_other_partitions_and_topics_apart(self) -> None:
        passed = SkippedRecords()
        first = Undecodable("t", 0, 7, "why")
        records = [first, replace(first, partition=1), replace(first, topic="a"), replace(first, offset=8)]
        assert [passed.is_new(record) for record in records * 2] == [True] * 4 + [False] * 4
        assert passed.counts == SortedMapping({"a": 1, "t": 3})

    def test_reads_a_partition_again_from_the_beginning_without_a_word(self) -> None:
        passed = SkippedRecords()
        records = [Undecodable("t", 0, offset, "why") for offset in range(1000)]
        assert sum(map(passed.is_new, records * 2)) == 1000
        assert passed.counts == SortedMapping({"t": 1000})


ENCODE_ALL = """
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.examples import CONSUMERS_UPDATE, EXAMPLES, IN_VERSION_2, REPORT_WITH_WORK
from restow.protocol.messages.commands import StopConsumingCommand
from restow.protocol.messages.consumer_events import ConsumerReady
from restow.protocol.records import encode, known_versions

held = {TopicPartition(topic, number) for topic in ("orders", "clicks", "a", "b") for number in range(12)}
digests = SortedMapping({topic: "x" for topic in {partition.topic for partition in held}})
ready = ConsumerReady(ConsumerId(1), True, tuple(held), digests, known_versions())
for message in (*EXAMPLES, CONSUMERS_UPDATE, ready, StopConsumingCommand(1, 1, 1, tuple(held))):
    print(encode(message, "anna@host-a", "lake"))
"""


def test_encodings_are_the_same_bytes_under_every_hash_seed() -> None:
    def encoded(seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", ENCODE_ALL]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    first = encoded("0")
    assert len(first.splitlines()) == len(EXAMPLES) + 3
    assert [encoded(seed) for seed in ("1", "2", "42")] == [first] * 3
