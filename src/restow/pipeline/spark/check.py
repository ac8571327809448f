"""`restow check` with Spark: runs transforms on a sample of records without storing, and looks at Delta tables."""

from collections.abc import Mapping
from pathlib import Path

from restow.consumer.planning import Range
from restow.errors import RestowError
from restow.kafka.newest import newest_offsets
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.pipeline.check import TransformSample
from restow.pipeline.delta.errors import DeltaTableError
from restow.pipeline.delta.sink import DeltaSink
from restow.pipeline.delta.staging import Writer
from restow.pipeline.delta.stores import is_remote
from restow.pipeline.places import place_of
from restow.pipeline.probing import probe
from restow.pipeline.sinks import Batch, NullSink, Stored
from restow.pipeline.spark.engine import Engine
from restow.pipeline.spark.failures import JobFailed
from restow.pipeline.spark.session import Resources
from restow.pipeline.spark.worker import no_patience
from restow.pipeline.spark.writing import write_files
from restow.pipeline.targets import Target, TargetCycle, target_of
from restow.pipeline.transforms import TransformError, TransformRaised
from restow.protocol.topic_service import TopicService
from restow.settings import Settings
from restow.text import counted


class CollectingSink(NullSink):
    """Computes all rows and counts them."""

    name = "the check"

    def __init__(self) -> None:
        self.rows = 0
        self.columns: tuple[str, ...] = ()
        self.schema = ""

    def store(self, batch: Batch) -> Stored:
        self.columns, self.schema = tuple(batch.rows.columns), batch.rows.schema.json()
        self.rows = len(batch.rows.collect())
        return Stored()


class SparkTrial:
    """Implements Trial."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._engine = Engine(settings, Resources("restow-check", cores=1.0))

    def close(self) -> None:
        self._engine.close()

    def transform(self, service: TopicService, partitions: tuple[TopicPartition, ...]) -> TransformSample:
        offsets = newest_offsets(self._settings.kafka, partitions) if partitions else {}
        ranges = {partition: Range(each.start, each.start, each.stop) for partition, each in offsets.items()}
        target = target_of(service)
        schemas = self._engine.schemas_of(target)
        if list(schemas) == [target.table]:
            return self._sample(target, ranges)
        samples = {table: self._sample(target.output(table), ranges) for table in schemas}
        rows = sum(sample.rows for sample in samples.values())
        columns = tuple(dict.fromkeys(column for sample in samples.values() for column in sample.columns))
        records = max(sample.records for sample in samples.values())
        return TransformSample(records, rows, columns, "", SortedMapping(schemas))

    def _sample(self, target: Target, ranges: Mapping[TopicPartition, Range]) -> TransformSample:
        sink = CollectingSink()
        cycle = TargetCycle(target, ranges, 0.0, sink)
        try:
            done = self._engine.run(cycle, lambda: False, no_patience)
        except (JobFailed, TransformRaised) as error:
            raise TransformError(self._engine.explain(cycle, error, lambda: False)) from None
        records = sum(read.records for read in done.read.values()) if done else 0
        return TransformSample(records, sink.rows, sink.columns, sink.schema)

    def table(
        self, service: TopicService, partitions: tuple[TopicPartition, ...], sample: TransformSample | None
    ) -> str:
        if sample is not None and sample.outputs:
            found = (self._table(table, service, partitions, schema) for table, schema in sample.outputs.items())
            return "; ".join(found)
        return self._table(service.table or "", service, partitions, sample.schema if sample else None)

    def _table(
        self, table: str, service: TopicService, partitions: tuple[TopicPartition, ...], schema: str | None
    ) -> str:
        place = place_of(table, self._settings)
        writer = Writer(self._settings.group.name, ConsumerId(0), 0)
        sink = DeltaSink(place.uri, writer, self._settings.table, write_files, place.former)
        is_local = not is_remote(place.uri)
        if is_local:
            _refuse_other_files(Path(place.uri))
        try:
            added = sink.preview(partitions, schema, target_of(service).rules)
        finally:
            sink.close()
        if is_local and (reason := probe(Path(place.uri, "" if added is None else "_delta_log"))):
            raise DeltaTableError(f"{sink.name} can't be written: {reason}; correct the rights, or name another place")
        safe = "" if is_local else ", in a store with conditional puts"
        return f"{_words(place.uri, added, has_sample=schema is not None)}{safe}"


def _words(uri: str, added: tuple[str, ...] | None, *, has_sample: bool) -> str:
    if added is None:
        return f"{uri} doesn't exist and will be created"
    if not has_sample:
        return f"{uri} exists; its columns are not compared, because the transform fails"
    if added:
        return f"{uri} exists, and {counted(len(added), 'column')} will be added: {', '.join(added)}"
    return f"{uri} exists and has all columns"


def _refuse_other_files(path: Path) -> None:
    if not path.exists() or Path(path, "_delta_log").exists():
        return
    if not path.is_dir():
        raise DeltaTableError(f"{path} is a file, not a Delta table; name another place")
    try:
        other = min((file.name for file in path.iterdir()), default=None)
    except OSError as error:
        raise RestowError(
            f"{path} can't be read: {error.strerror}; correct the rights, or name another place"
        ) from None
    if other is not None:
        raise DeltaTableError(f"{path} is not a Delta table, but has other files, such as {other}; name another place")
