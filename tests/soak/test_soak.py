"""The soak's own parts: a seed decides, every kind of strike comes, what is out of order is seen, what is printed."""

import random
from itertools import islice
from pathlib import Path

from arro3.core import Array, DataType
from tests.soak.group import LIGHT, SPARK
from tests.soak.page import section
from tests.soak.soak import Figures, Recovery, lines, shuffled
from tests.soak.strikes import STRIKES, kinds_for
from tests.soak.tables import out_of_order
from tests.support.delta.lake import P0, P1, adopt, lake, parquet, schema

from restow.model import TopicPartition
from restow.pipeline.sinks import Span

COLUMNS = schema(("_topic", "string"), ("_partition", "integer"), ("_offset", "long"))


def commit(root: Path, *rows: tuple[TopicPartition, int]) -> None:
    """One commit of one file with these rows, in this order."""
    columns = {
        "_topic": Array([partition.topic for partition, _ in rows], DataType.string()),
        "_partition": Array([partition.partition for partition, _ in rows], DataType.int32()),
        "_offset": Array([offset for _, offset in rows], DataType.int64()),
    }
    table = lake(root)
    spans = {}
    for partition, at in table.positions({partition for partition, _ in rows}).items():
        spans[partition] = Span(at, at + sum(each == partition for each, _ in rows))
    assert table.commit([adopt(table, parquet(columns), len(rows))], COLUMNS, spans) == ()


def test_a_row_that_comes_after_a_later_one_of_its_partition_is_out_of_order(tmp_path: Path) -> None:
    lake(tmp_path).register({P0: 0, P1: 0}, COLUMNS)
    commit(tmp_path, (P0, 0), (P1, 5), (P0, 1), (P1, 6))
    commit(tmp_path, (P0, 2), (P1, 7))
    assert out_of_order(tmp_path) == 0
    commit(tmp_path, (P1, 3), (P0, 3))
    assert out_of_order(tmp_path) == 1, "in a later commit"
    commit(tmp_path, (P0, 5), (P0, 4))
    assert out_of_order(tmp_path) == 2, "in the same file"


def test_every_kind_comes_once_before_any_comes_again_in_an_order_that_the_seed_decides() -> None:
    kinds = kinds_for(SPARK)
    first, again, other = (list(islice(shuffled(random.Random(seed), kinds), 40)) for seed in (7, 7, 8))
    assert first == again != other
    assert sorted(first[: len(kinds)]) == sorted(STRIKES)
    assert {*kinds} - {*kinds_for(LIGHT)} == {"JVM alone", "within compaction or vacuum"}


def test_a_run_prints_kills_and_recoveries_by_kind_and_what_was_counted() -> None:
    recoveries = (Recovery("broker", 1, 4.0), Recovery("broker", 1, 6.0), Recovery("controller twice", 2, 1.5))
    figures = Figures(7, SPARK, 4, 600, 1000, 999, 1, 0, 0, recoveries)
    words = [line.split() for line in lines([figures, figures])]
    assert words[1:] == [
        ["controller", "twice", "4", "1.5", "1.5"],
        ["broker", "4", "6.0", "6.0"],
        ["all", "8"],
        ["records", "2,000"],
        ["stored", "1,998"],
        ["lost", "2"],
        ["doubled", "0"],
        ["out_of_order", "0"],
    ]
    assert not figures.is_well
    assert "Pipeline `spark`: 2 runs, 0.3 h, seeds 7, 7" in section([figures, figures])
