"""Validation of a topic's definition beyond its types, and names that are made from the topic's own.

`TopicService` in topic_service.py calls it. Each error message starts with the field's name.
"""

import re
from typing import Final

from restow.errors import InvalidInput

FORMATS: Final = ("json", "avro", "protobuf", "text", "bytes")
"""The valid values of `format`."""
WITH_SCHEMA: Final = ("json", "avro", "protobuf")
TOPIC: Final = "{topic}"
"""Stands for the topic's name, in `table` and `subject`."""
SUBJECT: Final = f"{TOPIC}-value"
"""The registry's usual name of the schemas of a topic's values."""
URL: Final = re.compile(r"https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?")
EVOLVE: Final = ("add columns", "none")
"""The valid values of `evolve`."""
PARTITION: Final = re.compile(r"(?P<unit>year|month|day|hour)\((?P<of>[A-Za-z_]\w*)\)|(?P<column>[A-Za-z_]\w*)")
"""An entry of `partition_by`."""
ON_BAD_RECORD: Final = ("reject", "skip", "stop")
"""The valid values of `on_bad_record`."""
REJECTED: Final = "_rejected"
"""What the name of a table's dead-letter table ends with, unless the definition names one."""
PLACEHOLDER: Final = re.compile(r"\{[^{}]*\}")


def check_names(**texts: str | None) -> None:
    """They may have {topic} in them, and no other name in braces."""
    for name, text in texts.items():
        for found in PLACEHOLDER.findall(text or ""):
            if found != TOPIC:
                raise InvalidInput(f"{name} is '{text}'; it must have no other name in braces than {TOPIC}")


def check_parsing(
    format_: str | None, schema: str | None, registry: str | None, subject: str | None, message: str | None
) -> None:
    if format_ is not None and format_ not in FORMATS:
        raise InvalidInput(f"format is '{format_}'; it must be {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    for name, value in (("schema", schema), ("registry", registry)):
        if value is not None and format_ not in WITH_SCHEMA:
            raise InvalidInput(f"{name} is '{value}'; it must be left out unless format is {' or '.join(WITH_SCHEMA)}")
    if format_ in WITH_SCHEMA and schema is None and registry is None:
        also = ", which `restow check --infer` can write" if format_ == "json" else ""
        raise InvalidInput(f"format is '{format_}'; it must come with schema, a file{also}, or registry, a URL")
    if registry is not None:
        _check_registry(registry)
    if subject is not None and registry is None:
        raise InvalidInput(f"subject is '{subject}'; it must be left out without registry")
    if message is not None and format_ != "protobuf":
        raise InvalidInput(f"message is '{message}'; it must be left out unless format is protobuf")


def _check_registry(registry: str) -> None:
    """Without credentials: definitions are written to topics, logs and pages."""
    if "@" in registry:
        raise InvalidInput(f"registry is {_shown(registry)}; it must be without credentials: [registry] has those")
    if not URL.fullmatch(registry):
        raise InvalidInput(f"registry is {_shown(registry)}; it must be a URL like http://registry:8081")


def _shown(registry: str) -> str:
    """Without what may be a password."""
    return f"'…@{registry.rpartition('@')[2]}'" if "@" in registry else f"'{registry}'"


def check_rows(transform: str | None, sql: str | None, has_options: bool) -> None:
    if transform is not None and sql is not None:
        raise InvalidInput("sql is given beside transform; it must be one of them")
    if sql is not None and not sql.strip():
        raise InvalidInput("sql is empty; it must be a query, like select id, amount from records")
    if has_options and transform is None:
        raise InvalidInput("options are given without transform; it must be there, because only a transform gets them")


def check_table(evolve: str, partition_by: tuple[str, ...]) -> None:
    if evolve not in EVOLVE:
        raise InvalidInput(f"evolve is '{evolve}'; it must be {' or '.join(EVOLVE)}")
    for entry in partition_by:
        if not PARTITION.fullmatch(entry):
            raise InvalidInput(
                f"partition_by has '{entry}'; it must be a column, or year, month, day or hour of one, as day(at)"
            )
    names = [partition_column(entry).lower() for entry in partition_by]
    if len(set(names)) < len(names):
        raise InvalidInput(f"partition_by is {', '.join(partition_by)}; it must name each column once")


def partition_column(entry: str) -> str:
    """The table's column for an entry of `partition_by`: `created_at_day` for `day(created_at)`."""
    parts = PARTITION.fullmatch(entry)
    assert parts is not None, entry
    return parts["column"] or f"{parts['of']}_{parts['unit']}"


def check_bad_records(on_bad_record: str, most_rejected_per_min: int, table: str | None, rejected: str | None) -> None:
    if on_bad_record not in ON_BAD_RECORD:
        right = f"{', '.join(ON_BAD_RECORD[:-1])} or {ON_BAD_RECORD[-1]}"
        raise InvalidInput(f"on_bad_record is '{on_bad_record}'; it must be {right}")
    if most_rejected_per_min < 1:
        raise InvalidInput(f"most_rejected_per_min is {most_rejected_per_min}; it must be 1 or more")
    if rejected is not None and table is None:
        raise InvalidInput(f"rejected_table is '{rejected}'; it must be left out without table")
    if rejected is not None and rejected == table:
        raise InvalidInput(f"rejected_table is '{rejected}'; it must be another one than table")


def rejected_table(table: str | None, rejected: str | None) -> str | None:
    """The dead-letter table; None if there is no table."""
    return rejected or (None if table is None else f"{table.rstrip('/')}{REJECTED}")
