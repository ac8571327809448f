"""A Delta table with rows that tell where they come from, and files made without Spark. For the tests of tables."""

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
from restow.pipeline.delta.staging import Writer
from restow.pipeline.delta.table import DeltaLake
from restow.pipeline.table import Span, WrittenFile
from restow.settings import Table as TableSettings

Spans = Mapping[TopicPartition, Span]

P0, P1, P2, P3 = (TopicPartition("orders", number) for number in range(4))


def schema(*columns: tuple[str, str]) -> str:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns]
    return json.dumps({"type": "struct", "fields": fields})


COLUMNS = schema(("topic", "string"), ("partition", "integer"), ("offset", "long"))


def lake(root: Path, consumer: int = 1, settings: TableSettings | None = None, incarnation: int = 7) -> DeltaLake:
    return DeltaLake(str(root), Writer("shop", consumer, incarnation), settings or TableSettings(), print)


def write(table: DeltaLake, spans: Spans) -> list[WrittenFile]:
    """One file with a row for every offset, in the table's staging directory; it is no part of the table yet."""
    rows = [(*partition, offset) for partition, span in sorted(spans.items()) for offset in range(*span)]
    topics, partitions, offsets = zip(*rows, strict=True)
    columns = {
        "topic": Array(topics, DataType.string()),
        "partition": Array(partitions, DataType.int32()),
        "offset": Array(offsets, DataType.int64()),
    }
    return [adopt(table, parquet(columns), len(rows))]


def parquet(columns: Mapping[str, Array]) -> Path:
    """delta-rs writes Parquet files into Delta tables only: it is made to write one, whose file is taken."""
    scratch = tempfile.mkdtemp(prefix="restow-parquet-")
    write_deltalake(scratch, Columns.from_batches([RecordBatch.from_pydict(dict(columns))]))
    [file] = Path(scratch).glob("*.parquet")
    return file


def adopt(table: DeltaLake, file: Path, rows: int, keep: bool = False) -> WrittenFile:
    staging = table.staging()
    target = Path(table.uri) / staging
    target.mkdir(parents=True)
    size_bytes = file.stat().st_size
    if keep:
        shutil.copyfile(file, target / "part-0.parquet")
    else:
        shutil.move(file, target / "part-0.parquet")
        shutil.rmtree(file.parent)
    return WrittenFile(f"{staging}/part-0.parquet", size_bytes, rows)


def store(table: DeltaLake, spans: Spans) -> tuple[TopicPartition, ...]:
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
    """The files that brought rows, in the order of their commits. Compaction brings none."""
    entries = sorted((root / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for entry in entries for line in entry.read_text().splitlines() if line]
    return [root / action["add"]["path"] for action in actions if "add" in action and action["add"]["dataChange"]]


def on_disk(root: Path) -> set[str]:
    """Files of rows, whether they are part of the table or not."""
    return {str(path.relative_to(root)) for path in root.rglob("*.parquet") if "_delta_log" not in path.parts}
