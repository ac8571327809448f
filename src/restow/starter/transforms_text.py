"""The module of transforms that `restow init` writes: a function for each topic."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from restow.starter.columns import Column, Shape
from restow.starter.facts import TopicFacts
from restow.starter.types import quoted

SPARK_HEAD: Final = '''\
"""Transforms of group {group}: each gets the records of a cycle as a DataFrame, with the columns key, value, topic,
partition, offset and timestamp. Its closing `select` is the table's schema. restow adds _topic, _partition, _offset and
_timestamp to each row.

`restow check` tries them on the newest records; `restow reload` brings a change to running consumers.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
'''
LIGHT_HEAD: Final = '''\
"""Transforms of group {group}: each gets the records of one partition, in the order of their offsets, and returns
records: fewer, more or others. A record has topic, partition, offset, timestamp_ms, key and value; key and value are
bytes or None.

`restow check` tries them on the newest records; `restow reload` brings a change to running consumers.
"""

from collections.abc import Iterable

from restow.kafka.reading import Record
'''
LIGHT: Final = '''

def {function}(records: Iterable[Record]) -> Iterable[Record]:
    """Every record of {topic} as it is, except tombstones. {hint}"""
    return [record for record in records if record.value is not None]
'''
TEXT: Final = '''

def {function}(records: DataFrame) -> DataFrame:
    """{topic}: {words}."""
    return records.select(F.col("key").cast("string").alias("key"), F.col("value").cast("string").alias("value"))
'''
BINARY: Final = '''

def {function}(records: DataFrame) -> DataFrame:
    """{topic}: {words}."""
    return records.select("key", "value")
'''
MOST_NAMED: Final = 10
LONGEST_KEY: Final = 80
FALLBACKS: Final = {
    "text": (TEXT, "its values are text, not JSON objects; they are kept as they are"),
    "binary": (BINARY, "its values are neither text nor JSON; they are kept as they are"),
    "empty": (TEXT, "it had no records to look at; key and value are kept as text"),
    "unknown": (TEXT, "its records were not looked at; key and value are kept as text"),
}


def transforms_text(group: str, topics: Sequence[TopicFacts], functions: Mapping[str, str], *, light: bool) -> str:
    head = (LIGHT_HEAD if light else SPARK_HEAD).format(group=group)
    parts = [
        _light(topic, functions[topic.name]) if light else _spark(topic, functions[topic.name]) for topic in topics
    ]
    return head + "".join(parts)


def _light(topic: TopicFacts, function: str) -> str:
    is_json = topic.shape.kind == "json"
    hint = "Their fields: `json.loads(record.value)`." if is_json else "Drop or change records here."
    return LIGHT.format(function=function, topic=topic.name, hint=hint)


def _spark(topic: TopicFacts, function: str) -> str:
    if topic.shape.kind == "json":
        return _json(topic.name, function, topic.shape)
    form, words = FALLBACKS[topic.shape.kind]
    return form.format(function=function, topic=topic.name, words=words)


def _json(topic: str, function: str, shape: Shape) -> str:
    fields = f"{function.upper()}_FIELDS"
    schema = "".join(f"        {_text(f'{quoted(each.key)} {each.type}')},\n" for each in shape.columns)
    columns = "".join(f"        {_selected(each)},\n" for each in shape.columns)
    return (
        f'\n\n{fields} = ", ".join(\n    [\n{schema}    ]\n)\n\n\n'
        f"def {function}(records: DataFrame) -> DataFrame:\n"
        f'    """One row per record of {topic}. A field that is missing, or has another type, is null.\n\n'
        f"{_comments(shape)}"
        f'    """\n'
        f'    fields = F.from_json(F.col("value").cast("string"), {fields})\n'
        f'    return records.select(fields.alias("fields")).select(\n{columns}    )\n'
    )


def _comments(shape: Shape) -> str:
    lines = [f"    The types are those of {shape.sampled} sampled records; correct them where you know better."]
    if shape.unparsed:
        lines.append(f"    {shape.unparsed} of them were no JSON objects: such a record gives a row of nulls.")
    if shape.left_out:
        lines.append("    Keys that can't be columns of their own are left out:")
        lines += [f"    - {_harmless(key)}" for key in shape.left_out[:MOST_NAMED]]
    return "".join(f"{line}\n" for line in lines)


def _harmless(key: str) -> str:
    """Without characters that mean something in a docstring."""
    return ascii(key)[:LONGEST_KEY].replace("\\", "/").replace('"', "'")


def _selected(column: Column) -> str:
    path = f"fields.{quoted(column.key)}"
    if column.key == column.name and column.key.isidentifier() and column.key.isascii():
        return _text(f"fields.{column.key}")
    return f"F.col({_text(path)}).alias({_text(column.name)})"


def _text(value: str) -> str:
    """A Python literal."""
    return json.dumps(value, ensure_ascii=False)
