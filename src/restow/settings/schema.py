"""restow.toml as a whole: `Settings` has a field for each table of the file. `reader.py` is driven by it.

To add a table, add a dataclass in sections/ and a field of `Settings`.
"""

from dataclasses import Field, dataclass, field, fields, replace
from typing import Any

from restow.model import SortedMapping
from restow.protocol.topic_service import TopicService
from restow.settings.checks import TOPIC_OR_PATTERN
from restow.settings.paths import located
from restow.settings.sections.consumer import Consumer
from restow.settings.sections.controller import Controller
from restow.settings.sections.event_log import EventLog
from restow.settings.sections.group import Group
from restow.settings.sections.kafka import Kafka
from restow.settings.sections.kubernetes import Kubernetes
from restow.settings.sections.log import Log
from restow.settings.sections.metrics import Metrics
from restow.settings.sections.monitor import Monitor
from restow.settings.sections.page import Page
from restow.settings.sections.processes import Processes
from restow.settings.sections.registry import Registry
from restow.settings.sections.schedule import Schedule
from restow.settings.sections.spark import Spark
from restow.settings.sections.table import Table
from restow.settings.sections.topics import Topics


@dataclass(frozen=True, slots=True)
class Settings:
    """restow.toml as a whole: a field for each table, and the directory that relative paths start in."""

    kafka: Kafka
    group: Group
    topics: Topics = field(default_factory=Topics)
    monitor: Monitor = field(default_factory=Monitor)
    controller: Controller = field(default_factory=Controller)
    schedule: tuple[Schedule, ...] = ()
    consumer: Consumer = field(default_factory=Consumer)
    processes: Processes = field(default_factory=Processes)
    kubernetes: Kubernetes = field(default_factory=Kubernetes)
    spark: Spark = field(default_factory=Spark)
    registry: Registry = field(default_factory=Registry)
    table: Table = field(default_factory=Table)
    event_log: EventLog = field(default_factory=EventLog)
    page: Page = field(default_factory=Page)
    log: Log = field(default_factory=Log)
    metrics: Metrics = field(default_factory=Metrics)
    consume: SortedMapping[TOPIC_OR_PATTERN, TopicService] = field(default_factory=SortedMapping)
    """`[consume.NAME]`: what the group does with a topic's records. NAME is a topic, or a regular expression that
    starts with ^ and matches a whole name; a topic's own table takes precedence over an expression. An expression never
    matches Kafka's internal topics, nor restow's own of any group."""

    directory: str = field(default="", repr=False, compare=False)
    """The absolute path of the directory that restow.toml is in. Empty for settings that were read from no file: their
    relative paths start in the working directory."""

    def __post_init__(self) -> None:
        if self.topics.prefix is None:
            object.__setattr__(self, "topics", replace(self.topics, prefix=self.group.name))

    def in_directory(self, directory: str) -> "Settings":
        """The same settings, as those of a file in this directory."""
        file = self.kubernetes.kubeconfig
        kubeconfig = file if file is None or file.startswith("~") else located(file, directory)
        return replace(
            self,
            kafka=replace(self.kafka, properties=self.kafka.properties.in_directory(directory)),
            spark=replace(self.spark, properties=self.spark.properties.in_directory(directory)),
            kubernetes=replace(self.kubernetes, kubeconfig=kubeconfig),
            directory=directory,
        )

    def located(self, path: str) -> str:
        """The absolute path of a path in restow.toml; a URI stays as it is."""
        return located(path, self.directory)

    @property
    def topics_of_interest(self) -> tuple[str, ...]:
        """The names and regular expressions of all topics that the monitor measures."""
        return tuple(sorted({*self.monitor.topics, *self.consume}))


def tables() -> "dict[str, Field[Any]]":
    """The fields of `Settings` that are tables of restow.toml, by name."""
    return {each.name: each for each in fields(Settings) if each.name != "directory"}
