"""`restow check --infer`: writes JSON Schemas that restow.toml names and that don't exist, from samples of records."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from restow.durable import write_atomically
from restow.errors import RestowError
from restow.kafka.newest import newest_offsets, records_at
from restow.model import TopicPartition
from restow.protocol.topic_service import TopicService
from restow.settings import Settings
from restow.starter.columns import shape_of
from restow.starter.json_schema import schema_text
from restow.text import counted

SUFFIX: Final = ".json"
READABLE: Final = 0o644


class NotInferred(RestowError):
    """No schema can be inferred from the newest records."""


def is_missing(service: TopicService, settings: Settings) -> bool:
    """Whether it is a schema that can be inferred."""
    wants = service.format == "json" and service.registry is None and (service.schema or "").endswith(SUFFIX)
    return wants and not Path(settings.located(service.schema or "")).exists()


def infer(service: TopicService, partitions: Iterable[TopicPartition], settings: Settings) -> str:
    """Writes the schema's file. Returns what was done, in words. Raises RestowError."""
    file = Path(settings.located(service.schema or ""))
    offsets = newest_offsets(settings.kafka, partitions)
    found = records_at(settings.kafka, settings.group.name, offsets) if any(offsets.values()) else {}
    shape = shape_of(record.value for records in found.values() for record in records)
    if shape.kind == "empty":
        raise NotInferred(f"{file} can't be inferred: there are no records; write some, or write the schema yourself")
    if shape.kind != "json":
        words = f"the newest {counted(shape.sampled, 'record')} are {shape.kind}, not JSON objects"
        raise NotInferred(f"{file} can't be inferred: {words}; write another format")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, schema_text(shape, file.stem).encode(), READABLE)
    except OSError as error:
        raise NotInferred(f"{file} can't be written: {error.strerror}; name another place") from None
    left_out = f"; it leaves out {', '.join(shape.left_out)}, which can't be columns" if shape.left_out else ""
    names = ", ".join(column.name for column in shape.columns)
    return f"wrote {file} from {counted(shape.sampled, 'record')}: {names}{left_out}; look at it, it is yours now"
