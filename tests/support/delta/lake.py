"""Delta tables whose rows name their topic, partition and offset, with files written without Spark."""

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import duckdb
from arro3.core import Array, DataType, RecordBatch
from arro3.core import Table as Columns
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from restow.model import TopicPartition
from restow.pipeline.delta.files import files_below
from restow.pipeline.delta.sink import DeltaSink
from restow.pipeline.delta.staging import Writer, WrittenFile
from restow.pipeline.sinks import Span
from restow.settings import Table as TableSettings

Spans = Mapping[TopicPartition, Span]

P0, P1, P2, P3 = (TopicPartition("orders", number) for number in range(4))


def schema(*columns: tuple[str, str]) -> str:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns]
    return json.dumps({"type": "struct", "fields": fields})


COLUMNS = schema(("topic", "string"), ("partition", "integer"), ("offset", "long"))


def lake(root: Path | str, consumer: int = 1, settings: TableSettings | None = None, incarnation: int = 7) -> DeltaSink:
    return DeltaSink(
        str(root), Writer("shop", consumer, incarnation), settings or TableSettings(), write_files=_no_spark
    )


def _no_spark(*_: object) -> list[WrittenFile]:
    raise AssertionError("tests of tables write their files themselves, without Spark")


def write(table: DeltaSink, spans: Spans) -> list[WrittenFile]:
    """One uncommitted file in a new staging directory, with a row for every offset."""
    rows = [(*partition, offset) for partition, span in sorted(spans.items()) for offset in range(*span)]
    topics, partitions, offsets = zip(*rows, strict=True)
    columns = {
        "topic": Array(topics, DataType.string()),
        "partition": Array(partitions, DataType.int32()),
        "offset": Array(offsets, DataType.int64()),
    }
    return [adopt(table, parquet(columns), len(rows))]


def parquet(columns: Mapping[str, Array]) -> Path:
    """delta-rs writes Parquet files only into Delta tables, so that this takes the file of a scratch table."""
    scratch = tempfile.mkdtemp(prefix="restow-parquet-")
    write_deltalake(scratch, Columns.from_batches([RecordBatch.from_pydict(dict(columns))]))
    [file] = Path(scratch).glob("*.parquet")
    return file


def adopt(table: DeltaSink, file: Path, rows: int, keep: bool = False) -> WrittenFile:
    path = f"{table.staging()}/part-0.parquet"
    files_below(table.uri).upload(file, path)
    size_bytes = file.stat().st_size
    if not keep:
        shutil.rmtree(file.parent)
    return WrittenFile(path, size_bytes, rows)


def store(table: DeltaSink, spans: Spans) -> tuple[TopicPartition, ...]:
    return table.commit(write(table, spans), COLUMNS, spans)


def stored(root: Path) -> list[tuple[str, int, int]]:
    """Topic, partition and offset of all rows, sorted, as DuckDB reads them and delta-rs agrees."""
    files = DeltaTable(root).file_uris()
    if not files:
        return []
    query = f'SELECT topic, "partition", "offset" FROM read_parquet({files}) ORDER BY ALL'
    with duckdb.connect() as engine:
        found = engine.execute(query).fetchall()
    ours = QueryBuilder().register("lake", DeltaTable(root)).execute("SELECT count(*) AS rows FROM lake").read_all()
    assert ours["rows"].to_pylist() == [len(found)]
    return found


def rows(spans: Spans) -> list[tuple[str, int, int]]:
    return sorted((*partition, offset) for partition, span in spans.items() for offset in range(*span))


def repeated(found: Iterable[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    return sorted(row for row, count in Counter(found).items() if count > 1)


def visible(root: Path) -> set[str]:
    return {str(Path(uri).relative_to(root)) for uri in DeltaTable(root).file_uris()}


def brought(root: Path) -> list[Path]:
    """The files with new rows, in the order of their commits. Compaction adds none."""
    entries = sorted((root / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for entry in entries for line in entry.read_text().splitlines() if line]
    return [root / action["add"]["path"] for action in actions if "add" in action and action["add"]["dataChange"]]


def on_disk(root: Path) -> set[str]:
    """All Parquet files below the root, committed or not."""
    return {str(path.relative_to(root)) for path in root.rglob("*.parquet") if "_delta_log" not in path.parts}
