"""The records of the benchmark."""

import json
import zlib
from itertools import islice

import pytest

from restow.throughput.records import CANCELLED, DELIVERED, kept, numbered, value


@pytest.mark.parametrize("size", [150, 1000, 10_000])
def test_a_record_is_json_of_exactly_its_size(size: int) -> None:
    for number in (0, 7, 9_999_999):
        record = value(number, number // 8, size)
        assert len(record) == size
        assert json.loads(record)["id"] == number


def test_one_record_of_ten_of_each_partition_is_cancelled() -> None:
    for partition in range(3):
        own = [(number, at) for number, where, at in islice(numbered(3), 90) if where == partition]
        states = [json.loads(value(number, at, 150))["status"] for number, at in own]
        assert states == ([DELIVERED] * 9 + [CANCELLED]) * 3
        for count in (0, 1, 9, 10, 11, 30):
            assert kept(count) == states[:count].count(DELIVERED)


def test_a_record_that_is_too_small_is_refused() -> None:
    with pytest.raises(ValueError, match=r"needs .* bytes, not 50"):
        value(1, 1, 50)


def test_texts_of_records_differ_so_that_tables_have_no_use_for_dictionaries() -> None:
    notes = [json.loads(value(number, number, 1000))["note"] for number in range(2000)]
    assert len(set(notes)) == len(notes)
    assert len(zlib.compress("".join(notes).encode(), 1)) > sum(map(len, notes)) / 3
