"""Parsers of JSON, Avro, text and bytes, made of Spark's own functions. protobuf.py has the other one.

Schemas.of (schemas.py) chooses among them.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as sql
from pyspark.sql.avro.functions import from_avro

from restow.pipeline.formats.errors import SchemaError
from restow.pipeline.formats.frames import PARSED, Parser
from restow.pipeline.formats.framing import body, head_error, schema_id
from restow.pipeline.formats.json_schema import JsonColumn, check_names
from restow.starter.types import quoted

CORRUPT: Final = "_restow_corrupt"
"""Spark puts a value that doesn't fit the schema into the column of this name."""
RIGHT: Final = "_restow_right"
"""A field that only values have which could be parsed."""
NO_JSON: Final = "it is not a JSON object that fits the schema"
NO_AVRO: Final = "it is not an Avro record that fits the schema"


def bytes_parser() -> Parser:
    return Parser(sql.struct("value"), {"value": "value"}, sql.lit(None))


def text_parser() -> Parser:
    text = sql.try_validate_utf8(sql.col("value").cast("string"))
    error = sql.when(sql.col(PARSED)["value"].isNull(), "it is not UTF-8 text")
    return Parser(sql.struct(text.alias("value")), {"value": "value"}, error)


def json_parser(columns: Sequence[JsonColumn], head: Column | None = None) -> Parser:
    """`head` is the error of a framed value's head; None if values aren't framed."""
    text = (sql.col("value") if head is None else body()).cast("string")
    schema = ", ".join(f"{quoted(column.key)} {column.type}" for column in columns)
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    struct = sql.from_json(text, f"{schema}, {CORRUPT} string", options)
    found = sql.col(PARSED)
    error = sql.when(found.isNull() | found[CORRUPT].isNotNull(), sql.lit(NO_JSON))
    for column in columns:
        if column.is_required:
            error = error.when(found[column.key].isNull(), sql.lit(f"it has no {column.key}, which is required"))
    return Parser(struct, {column.key: column.name for column in columns}, _after(head, error))


def avro_parser(reader: str, where: str) -> Parser:
    """For values without framing, which are all written by the same schema."""
    columns = avro_columns(reader, where)
    return Parser(from_avro(sql.col("value"), reader, _avro_options(reader)), columns, _avro_error())


def framed_avro_parser(reader: str, writers: Mapping[int, str], bad: Mapping[int, str], where: str) -> Parser:
    """`writers` are the schemas that values are written by, by their ids; `reader` gives the columns."""
    columns, number, struct = avro_columns(reader, where), schema_id(), sql.lit(None)
    for each, writer in sorted(writers.items()):
        struct = sql.when(number == each, from_avro(body(), writer, _avro_options(reader))).otherwise(struct)
    return Parser(struct, columns, _after(head_error(writers, bad), _avro_error()))


def _avro_options(reader: str) -> dict[str, str]:
    """Where a value doesn't parse, Spark makes a struct of nulls, like a value that has only nulls. So the reader's
    schema has a field more, which no value has: its default shows that the value was parsed."""
    schema = json.loads(reader)
    schema["fields"].append({"name": RIGHT, "type": "boolean", "default": True})
    return {"mode": "PERMISSIVE", "avroSchema": json.dumps(schema)}


def _avro_error() -> Column:
    found = sql.col(PARSED)
    return sql.when(found.isNull() | found[RIGHT].isNull(), sql.lit(NO_AVRO))


def avro_columns(schema: str, where: str) -> dict[str, str]:
    """Raises SchemaError."""
    try:
        found: Any = json.loads(schema)
        names = [str(each["name"]) for each in found["fields"] if found["type"] == "record"]
    except (ValueError, KeyError, TypeError):
        names = []
    if not names:
        raise SchemaError(f"{where} is not an Avro schema of a record with fields; it must be one, as JSON")
    check_names(iter(names), where)
    return {name: name for name in names}


def _after(head: Column | None, error: Column) -> Column:
    return error if head is None else sql.coalesce(head, error)
