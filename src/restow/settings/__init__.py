"""restow.toml -> frozen settings, checked once. Every process is given a `Settings` and reads nothing else.

schema.py       the settings: a dataclass for each table of the file, a documented field for each key
passthrough.py  a table that is passed on as it is written
properties.py   what a person passes on to the Kafka clients, with its secrets kept out of sight
reader.py       the one reader, which the fields of the dataclasses drive
exposure.py     whether a file can be shown to others
"""

from restow.settings.passthrough import FreeTable
from restow.settings.properties import ClientProperties
from restow.settings.reader import read_settings
from restow.settings.schema import (
    Consumer,
    Controller,
    Group,
    Kafka,
    Kubernetes,
    Log,
    Monitor,
    Processes,
    Settings,
    Spark,
    Table,
    Topics,
)

__all__ = [
    "ClientProperties",
    "Consumer",
    "Controller",
    "FreeTable",
    "Group",
    "Kafka",
    "Kubernetes",
    "Log",
    "Monitor",
    "Processes",
    "Settings",
    "Spark",
    "Table",
    "Topics",
    "read_settings",
]
