"""A picture survives its records, in parts of any size and with changes between."""

import json
from dataclasses import replace

import pytest
from tests.support.controller_driver import A1
from tests.support.picture_driver import PictureDriver, pair

from restow.errors import InvalidInput
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.picture.parts import Assembler, change, whole
from restow.picture.picture import PartitionStatus, Picture

ONE = ConsumerId(1)


def large(partitions: int) -> Picture:
    rows = {TopicPartition(f"topic-{n % 7}", n): PartitionStatus(None, None, float(n)) for n in range(partitions)}
    return replace(pair().picture(), partitions=SortedMapping(rows))


def assembled(*values: bytes) -> Assembler:
    assembler = Assembler()
    for value in values:
        assembler.take(value)
    return assembler


def test_a_small_picture_is_one_record() -> None:
    picture = pair().picture()
    [record] = whole(picture, 1)
    assert record.key == b"whole-0"
    assert assembled(record.value).picture == picture


def test_parts_have_at_most_the_given_size_and_make_the_same_picture_in_any_order() -> None:
    picture = large(3000)
    records = whole(picture, 5, largest_bytes=20_000)
    assert len(records) > 10
    assert max(len(record.value) for record in records) <= 20_500
    assert [record.key for record in records] == [b"whole-%d" % part for part in range(len(records))]
    assert assembled(*(record.value for record in reversed(records))).picture == picture


def test_an_incomplete_picture_is_no_picture() -> None:
    first, *_ = whole(large(3000), 5, largest_bytes=20_000)
    assert assembled(first.value).picture is None


def test_a_part_that_claims_to_be_one_of_a_billion_costs_nothing_and_is_no_picture() -> None:
    [record] = whole(pair().picture(), 1)
    claimed = json.dumps({**json.loads(record.value), "parts": 2**40}).encode()
    assert assembled(claimed).picture is None
    assert assembled(claimed, whole(large(5), 2)[0].value).picture == large(5)


def test_parts_of_two_pictures_are_not_mixed() -> None:
    old, new = whole(large(3000), 5, largest_bytes=20_000), whole(large(2000), 6, largest_bytes=20_000)
    assembler = assembled(old[0].value, *(record.value for record in new), *(record.value for record in old))
    assert assembler.picture == large(2000)


def moved(driver: PictureDriver) -> Picture:
    driver.measures(a_0=60, a_1=40, a_2=40, a_3=40)
    driver.is_ready(3)
    driver.answers(1)
    driver.answers(3)
    return driver.picture()


def test_a_change_has_what_moved_and_leaves_the_rest() -> None:
    driver = pair()
    before = driver.picture()
    after = moved(driver)
    record = change(before, after, number=1, change=1)
    value = json.loads(record.value)
    assert record.key == b"change"
    assert value["topics"].keys() == {"a"}
    assert value["topics"]["a"].keys() == {"1"}
    assert value["consumers"].keys() == {"3"}
    picture = assembled(whole(before, 1)[0].value, record.value).picture
    assert picture is not None
    assert picture.overview == after.overview
    assert picture.partitions[A1].consumer == 3
    assert {partition: status.consumer for partition, status in picture.partitions.items()} == {
        partition: status.consumer for partition, status in after.partitions.items()
    }


def test_what_is_gone_goes_with_a_change() -> None:
    before = pair().picture()
    rest = {partition: status for partition, status in before.partitions.items() if partition != A1}
    after = Picture(before.overview, SortedMapping({ONE: before.consumers[ONE]}), SortedMapping(rest))
    assert assembled(whole(before, 1)[0].value, change(before, after, 1, 1).value).picture == after


def test_a_change_of_another_picture_changes_nothing() -> None:
    driver = pair()
    before = driver.picture()
    late = change(before, moved(driver), number=1, change=1)
    newer = driver.picture()
    assembler = assembled(whole(before, 1)[0].value, whole(newer, 2)[0].value)
    assert not assembler.take(late.value)
    assert assembler.picture == newer


def test_a_replaced_controllers_picture_changes_nothing() -> None:
    older, newer = pair().picture(), pair().picture()
    newer = replace(newer, overview=replace(newer.overview, epoch=9))
    assembler = assembled(whole(newer, 1)[0].value, whole(older, 800)[0].value)
    assert assembler.picture == newer


@pytest.mark.parametrize(
    "value",
    [b"", b"[]", b'{"version": 2}', b'{"version": 1}', b'{"version": 1, "epoch": -1, "picture": 1}', b"\xff"],
)
def test_what_is_no_picture_is_refused(value: bytes) -> None:
    with pytest.raises(InvalidInput):
        Assembler().take(value)


def test_readers_ignore_keys_of_a_newer_writer() -> None:
    picture = pair().picture()
    plain = json.loads(whole(picture, 1)[0].value)
    plain["overview"]["mood"] = plain["mood"] = "good"
    assert assembled(json.dumps(plain).encode()).picture == picture
