"""restow.toml -> frozen settings, validated once. Every process gets one `Settings` and reads no other configuration.

sections/       every setting: a module per table of the file, a documented field per key
schema.py       restow.toml as a whole, put together from the sections
cron.py         cron expressions and durations, for schedules
checks.py       constraints on values beyond their type
reader.py       the reader, driven by the dataclasses of schema.py and sections/
properties.py   Kafka client properties, with secrets redacted
paths.py        relative paths, which start in the directory of restow.toml
passthrough.py  a table that is handed on unread, such as a pod template
exposure.py     whether a file can be published without giving a secret away
reference.py    docs/settings.md, from the code
"""

from restow.settings.passthrough import PassthroughTable
from restow.settings.properties import ClientProperties
from restow.settings.reader import InvalidSettings, read_settings
from restow.settings.schema import Settings
from restow.settings.sections.consumer import START_CAPACITY_BYTES_PER_S, Consumer
from restow.settings.sections.controller import Controller
from restow.settings.sections.event_log import EventLog
from restow.settings.sections.group import Group
from restow.settings.sections.kafka import Kafka
from restow.settings.sections.kubernetes import Kubernetes
from restow.settings.sections.log import Log
from restow.settings.sections.monitor import Monitor
from restow.settings.sections.page import Page
from restow.settings.sections.processes import Processes
from restow.settings.sections.registry import Registry
from restow.settings.sections.schedule import Schedule
from restow.settings.sections.spark import Spark
from restow.settings.sections.table import Table
from restow.settings.sections.topics import Topics

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
