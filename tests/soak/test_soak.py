"""The soak's own parts: a seed decides, and what is out of order is seen."""

import random
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from arro3.core import Array, DataType
from tests.soak.soak import PAUSES_S, Kill, out_of_order, pauses_s, ready_again_s
from tests.support.delta.lake import P0, P1, adopt, lake, parquet, schema

from restow.demo.group import GROUP
from restow.model import TopicPartition
from restow.pipeline.sinks import Span

COLUMNS = schema(("_topic", "string"), ("_partition", "integer"), ("_offset", "long"))
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


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


def test_the_same_seed_has_the_same_pauses_and_another_has_others() -> None:
    first, again, other = (list(islice(pauses_s(random.Random(seed)), 15)) for seed in (7, 7, 8))
    assert first == again != other
    assert PAUSES_S[0] <= min(first) < max(first) <= PAUSES_S[1]


def test_how_long_a_consumer_was_away_is_counted_from_its_last_kill() -> None:
    kills = [Kill(consumer, NOON + timedelta(seconds=at), True) for consumer, at in ((1, 0), (1, 8), (2, 9), (1, 60))]
    logs = {
        f"{GROUP}-consumer-1": (
            "2026-03-01T11:59:00.000Z INFO    consumer-1  consumer 1 is ready, as incarnation 3\n"
            "2026-03-01T12:00:20.500Z INFO    consumer-1  consumer 1 is ready, as incarnation 9\n"
        )
    }
    assert list(ready_again_s(kills, logs)) == [12.5]
