"""The light pipeline's transforms: the error of a failing one names the record and the line."""

import sys
from pathlib import Path

import pytest

from restow.kafka.reading import Record
from restow.model import SortedMapping, TopicPartition
from restow.pipeline.light.transforms import check_service, rows_of, split
from restow.pipeline.searching import TooManyBad
from restow.pipeline.transforms import TransformError
from restow.protocol.topic_service import TopicService

RECORDS = [Record("orders", 3, offset, None, None, str(offset).encode()) for offset in range(40, 80)]

TRANSFORMS = """\
def lazily(records):
    for record in records:
        if record.value.endswith(b"7"):
            raise ValueError(f"{record.value!r} is no price")
        yield record


def all_at_once(records):
    records = list(records)
    return [record._replace(value=b"%d" % (100 // (int(record.value) - 71))) for record in records]


def together(records):
    records = list(records)
    if len(records) > 30:
        raise MemoryError("too many")
    return records


def no_records(records):
    return [record.offset for record in records]
"""


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "light_transforms.py"
    file.write_text(TRANSFORMS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "light_transforms", raising=False)
    return file


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("lazily", "fails on orders-3 at offset 47: ValueError: b'47' is no price (FILE, line 4, in lazily)"),
        (
            "all_at_once",
            "fails on orders-3 at offset 71: ZeroDivisionError: integer division or modulo by zero (FILE, ",
        ),
        ("together", "fails on orders-3 from offset 40 to 79: MemoryError: too many (FILE, line 16, in together)"),
        ("no_records", "returned a value of type int; it must return records"),
    ],
)
def test_an_error_names_the_record_and_the_line(name: str, says: str, file: Path) -> None:
    with pytest.raises(TransformError) as error:
        rows_of(f"light_transforms:{name}", RECORDS)
    assert str(error.value).startswith(f"the transform light_transforms:{name} {says.replace('FILE', str(file))}")


def test_good_records_are_rows() -> None:
    assert rows_of("light_transforms:lazily", RECORDS[:7]) == tuple(RECORDS[:7])
    assert rows_of(None, RECORDS) == tuple(RECORDS)


@pytest.mark.parametrize(
    ("service", "name"),
    [
        (TopicService(format="text"), "format"),
        (TopicService(sql="select 1"), "sql"),
        (TopicService(transform="transforms_for_tests:even", options=SortedMapping({"a": 1})), "options"),
    ],
)
def test_what_needs_spark_is_refused(service: TopicService, name: str) -> None:
    with pytest.raises(TransformError) as refused:
        check_service(service)
    assert str(refused.value) == f'{name} needs Spark; leave it out, or write pipeline = "spark" in [consumer]'


def test_bad_records_are_split_off_each_with_its_error() -> None:
    rows, bad = split("light_transforms:lazily", RECORDS, most=4)
    assert [row.offset for row in rows] == [record.offset for record in RECORDS if record.offset % 10 != 7]
    assert list(bad) == [47, 57, 67, 77]
    assert bad[47].startswith("ValueError: b'47' is no price (")
    with pytest.raises(TooManyBad) as raised:
        split("light_transforms:lazily", RECORDS, most=3)
    assert len(raised.value.found[TopicPartition("orders", 3)]) == 4
    with pytest.raises(TransformError):
        split("light_transforms:together", RECORDS, most=4)
