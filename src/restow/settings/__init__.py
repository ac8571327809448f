"""restow.toml -> frozen settings, validated once. Every process gets one `Settings` and reads no other configuration.

schema.py       every setting: a dataclass per table of the file, a documented field per key
cron.py         cron expressions and durations, for schedules
checks.py       constraints on values beyond their type
reader.py       the reader, driven by the dataclasses of schema.py
properties.py   Kafka client properties, with secrets redacted
paths.py        relative paths, which start in the directory of restow.toml
passthrough.py  a table that is handed on unread, such as a pod template
exposure.py     whether a file can be published without giving a secret away
reference.py    docs/settings.md, from the code
"""

from restow.settings.passthrough import PassthroughTable
from restow.settings.properties import ClientProperties
from restow.settings.reader import InvalidSettings, read_settings
from restow.settings.schema import (
    START_CAPACITY_BYTES_PER_S,
    Consumer,
    Controller,
    EventLog,
    Group,
    Kafka,
    Kubernetes,
    Log,
    Monitor,
    Page,
    Processes,
    Registry,
    Schedule,
    Settings,
    Spark,
    Table,
    Topics,
)

__all__ = [
    "START_CAPACITY_BYTES_PER_S",
    "ClientProperties",
    "Consumer",
    "Controller",
    "EventLog",
    "Group",
    "InvalidSettings",
    "Kafka",
    "Kubernetes",
    "Log",
    "Monitor",
    "Page",
    "PassthroughTable",
    "Processes",
    "Registry",
    "Schedule",
    "Settings",
    "Spark",
    "Table",
    "Topics",
    "read_settings",
]
