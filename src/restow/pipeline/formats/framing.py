"""Confluent's framing: a value begins with a zero byte and the id of its schema, in four bytes; the rest is its body.

A record with an id that isn't known yet fails the job (`unknown_id` reads the id from the error): the driver asks the
registry for the schema and runs the job again. So a new version in the middle of a run costs one failed attempt, and
cycles ask the registry for nothing.
"""

import re
from collections.abc import Collection, Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as sql

HEAD_BYTES: Final = 5
UNKNOWN: Final = "restow doesn't know the schema id "
FOUND: Final = re.compile(re.escape(UNKNOWN) + r"(\d+)")


def schema_id() -> Column:
    return sql.conv(sql.hex(sql.substring("value", 2, HEAD_BYTES - 1)), 16, 10).cast("bigint")


def body() -> Column:
    return sql.expr(f"substring(value, {HEAD_BYTES + 1})")


def head_error(known: Collection[int], bad: Mapping[int, str]) -> Column:
    """Why a value can't be read before its body is looked at: it has no head, or its id is of a `bad` schema, each with
    the reason. Null if its id is known."""
    has_head = (sql.octet_length("value") >= HEAD_BYTES) & (sql.hex(sql.substring("value", 1, 1)) == "00")
    number = schema_id()
    found = sql.when(~has_head, sql.lit("it doesn't begin with a zero byte and the id of a schema"))
    for each, reason in sorted(bad.items()):
        found = found.when(number == each, sql.lit(reason))
    unknown = sql.raise_error(sql.concat(sql.lit(UNKNOWN), number.cast("string"))).cast("string")
    return found.when(~number.isin(sorted(known)), unknown).otherwise(sql.lit(None).cast("string"))


def unknown_id(error: BaseException) -> int | None:
    """The id because of which a job failed; None if it failed for another reason."""
    found = FOUND.search(str(error))
    return None if found is None else int(found[1])
