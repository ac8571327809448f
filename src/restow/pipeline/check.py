"""`restow check`: finds out what a group will meet, and changes nothing.

It asks the brokers for the topics, runs each transform on the newest records, and looks at each table. Every answer is
a `Finding`: right, wrong, or unknown because something that it depends on doesn't answer. spark/check.py and
light/check.py have what is particular to a pipeline. The command line calls it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from restow.errors import RestowError
from restow.kafka.admin import Admin, Cluster
from restow.kafka.errors import NoAnswer
from restow.kafka.offsets import GroupOffsets
from restow.kafka.topics import wanted_topics
from restow.model import SortedMapping, TopicPartition
from restow.pipeline.formats.errors import RegistryUnavailable
from restow.pipeline.formats.infer import infer, is_missing
from restow.pipeline.transforms import TransformError
from restow.protocol.definitions import TOPIC
from restow.protocol.topic_names import NamesAndPatterns, topics_of_groups
from restow.protocol.topic_service import TopicService
from restow.settings import Settings
from restow.text import counted, listed

BROKERS_WITHIN_S: Final = 10.0
MOST_TOPICS: Final = 5
"""How many topics of a regular expression are tried, where each has its own table or schema."""


class Verdict(StrEnum):
    RIGHT = "right"
    WRONG = "wrong"
    UNKNOWN = "unknown"
    """It can't be told now."""


@dataclass(frozen=True, slots=True)
class Finding:
    verdict: Verdict
    subject: str
    words: str

    def __str__(self) -> str:
        return f"{self.verdict:<8} {self.subject}: {self.words}"


@dataclass(frozen=True, slots=True)
class TransformSample:
    """What a transform made of the sampled records."""

    records: int
    rows: int
    columns: tuple[str, ...]
    schema: str | None = None
    """The schema of its rows, if the pipeline has one."""
    outputs: SortedMapping[str, str] = field(default_factory=SortedMapping)
    """The schema of the rows of each table, if it returns several."""

    def __str__(self) -> str:
        columns = ", ".join(self.columns)
        if not self.records:
            return f"no records to try; its rows have {columns}"
        return f"{counted(self.records, 'record')} became {counted(self.rows, 'row')} of {columns}"


class FoundTopics(NamedTuple):
    """What the brokers have for one [consume.NAME]."""

    name: str
    finding: Finding
    partitions: tuple[TopicPartition, ...] = ()


class Definition(NamedTuple):
    """What is done with the records of some partitions."""

    place: str
    """Where it is written, and for which topic if it is one of several."""
    service: TopicService
    partitions: tuple[TopicPartition, ...]


class Trial(Protocol):
    """How one pipeline tries a topic's definition. Methods raise RestowError if the definition can't be used."""

    def transform(self, service: TopicService, partitions: tuple[TopicPartition, ...]) -> TransformSample:
        """Runs the transform on the newest records of some of the partitions, or on none if there are none."""

    def table(
        self, service: TopicService, partitions: tuple[TopicPartition, ...], sample: TransformSample | None
    ) -> str:
        """What becomes of the table, in words. Without a sample its columns are not compared."""


def check(
    settings: Settings, open_trial: Callable[[], Trial], redact: Callable[[str], str], *, infers: bool = False
) -> Iterator[Finding]:
    """Everything. `open_trial` may raise RestowError; `redact` removes secrets from a text. `infers`: whether schemas
    that don't exist are written from samples of records."""
    cluster: Cluster | None = None
    for found in check_brokers(settings):
        if isinstance(found, Finding):
            yield found
        else:
            cluster = found
    topics = list(check_topics(settings, cluster))
    if partitions := tuple(sorted(each for topic in topics for each in topic.partitions)):
        yield check_group(settings, partitions)
    if infers:
        yield from infer_schemas(settings, topics)
    try:
        trial = open_trial()
    except RestowError as error:
        yield _failed(settings.consumer.pipeline, error, redact)
        yield from (topic.finding for topic in topics)
        return
    for topic in topics:
        yield topic.finding
        for definition in _definitions(topic, settings.consume[topic.name]):
            yield from check_definition(definition, trial, redact)


def infer_schemas(settings: Settings, topics: Iterable[FoundTopics]) -> Iterator[Finding]:
    for topic in topics:
        service, subject = settings.consume[topic.name], f"{_place(topic.name)} schema"
        if not is_missing(service, settings):
            continue
        try:
            yield Finding(Verdict.RIGHT, subject, infer(service, topic.partitions, settings))
        except RestowError as error:
            yield _failed(subject, error)


def check_brokers(settings: Settings) -> Iterator[Finding | Cluster]:
    """Yields findings, and the cluster as soon as it is known."""
    bootstrap = settings.kafka.bootstrap
    try:
        with Admin(settings.kafka, BROKERS_WITHIN_S) as admin:
            cluster = admin.cluster()
            yield cluster
            yield Finding(Verdict.RIGHT, "brokers", f"{bootstrap} answers, {counted(len(cluster.nodes), 'broker')}")
            yield _own_topics(settings, admin, cluster)
    except RestowError as error:
        yield _failed("brokers", error)


def _own_topics(settings: Settings, admin: Admin, cluster: Cluster) -> Finding:
    subject, topics = "topics of restow", settings.topics
    wanted = wanted_topics(topics, topics.most_consumers)
    missing = {name: topic for name, topic in wanted.items() if name not in cluster.leaders}
    if not missing:
        return Finding(Verdict.RIGHT, subject, f"{listed(list(wanted), 'topic')}, named {topics.prefix}-…, exist")
    try:
        for name, topic in missing.items():
            admin.check_creation(name, topic.partitions, topics.replication_factor, topic.settings)
    except RestowError as error:
        return _failed(subject, error)
    names = ", ".join(missing)
    return Finding(Verdict.RIGHT, subject, f"{names} will be created by the first role that starts")


def check_topics(settings: Settings, cluster: Cluster | None) -> Iterator[FoundTopics]:
    """For each [consume.NAME] whether there is such a topic, and its partitions."""
    wanted = NamesAndPatterns(settings.consume)
    restows = topics_of_groups(cluster.leaders if cluster else ()).union(settings.topics.names)
    topics: dict[str, list[str]] = {name: [] for name in settings.consume}
    for topic in cluster.leaders if cluster else ():
        if entry := wanted.entry_for(topic, is_restows=topic in restows):
            topics[entry].append(topic)
    for name, found in topics.items():
        subject = f"{_place(name)} topic"
        if cluster is None:
            yield FoundTopics(name, Finding(Verdict.UNKNOWN, subject, "the brokers can't be asked"))
            continue
        partitions = tuple(cluster.partitions_of(found))
        finding = _topic(name, subject, found, len(partitions), settings.kafka.bootstrap)
        yield FoundTopics(name, finding, partitions)


def _topic(name: str, subject: str, topics: list[str], partitions: int, bootstrap: str) -> Finding:
    if name.startswith("^"):
        if not topics:
            return Finding(
                Verdict.RIGHT, subject, f"no topic on {bootstrap} matches it yet; one will be read if it comes"
            )
        matches = f"matches {listed(topics, 'topic')} with {counted(partitions, 'partition')}"
        return Finding(Verdict.RIGHT, subject, matches)
    if not topics:
        words = f"there is no topic {name} on {bootstrap}, or the right Describe on it is missing"
        return Finding(Verdict.WRONG, subject, f"{words}; create it, or correct the name")
    return Finding(Verdict.RIGHT, subject, f"{name} has {counted(partitions, 'partition')}")


def check_group(settings: Settings, partitions: tuple[TopicPartition, ...]) -> Finding:
    """Whether the group's offsets can be read, which needs a right of their own."""
    name = settings.group.name
    try:
        with closing(GroupOffsets(settings.kafka, name)) as group:
            committed = group.committed(partitions)
    except RestowError as error:
        return _failed("group", error)
    known = f"has offsets of {counted(len(committed), 'partition')}" if committed else "has no offsets yet"
    return Finding(Verdict.RIGHT, "group", f"{name} {known}")


def _definitions(found: FoundTopics, service: TopicService) -> Iterator[Definition]:
    """One for all topics, or one for each if names in it are made from the topic's."""
    by_topic: dict[str, list[TopicPartition]] = {}
    for partition in found.partitions:
        by_topic.setdefault(partition.topic, []).append(partition)
    topics = sorted(by_topic)[:MOST_TOPICS]
    if not found.name.startswith("^"):
        yield Definition(_place(found.name), service.for_topic(found.name), found.partitions)
    elif not topics or service.for_topic(topics[0]) == service:
        yield Definition(_place(found.name), service, found.partitions)
    else:
        for topic in topics:
            yield Definition(f"{_place(found.name)} for {topic}", service.for_topic(topic), tuple(by_topic[topic]))


def check_definition(definition: Definition, trial: Trial, redact: Callable[[str], str]) -> Iterator[Finding]:
    """The transform and the table of one definition."""
    place, service, partitions = definition
    if not partitions and TOPIC in f"{service.table}{service.subject}":
        return  # it has no names before there is a topic
    sample: TransformSample | None = None
    subject = f"{place} transform"
    try:
        sample = trial.transform(service, partitions)
    except RestowError as error:
        yield _failed(subject, error, redact)
    else:
        has_own = service.transform or service.sql
        how = "parsed" if service.format else "as they are"
        words = str(sample) if has_own else f"none, records are stored {how}: {sample}"
        yield Finding(Verdict.RIGHT, subject, words)
    subject = f"{place} table"
    if service.table is None and not (sample and sample.outputs):
        yield Finding(Verdict.RIGHT, subject, "none, so that records are only counted")
        return
    try:
        yield Finding(Verdict.RIGHT, subject, trial.table(service, partitions, sample))
    except RestowError as error:
        yield _failed(subject, error, redact)


def exit_code(findings: Mapping[Verdict, int]) -> int:
    """0 right, 1 wrong, 2 can't tell."""
    if findings.get(Verdict.WRONG):
        return 1
    return 2 if findings.get(Verdict.UNKNOWN) else 0


def _place(name: str) -> str:
    is_bare = name.replace("-", "").replace("_", "").isalnum() and name.isascii()
    return f"[consume.{name}]" if is_bare else f'[consume."{name}"]'


def _failed(subject: str, error: RestowError, redact: Callable[[str], str] = str) -> Finding:
    is_unknown = isinstance(error, NoAnswer | RegistryUnavailable) and not isinstance(error, TransformError)
    return Finding(Verdict.UNKNOWN if is_unknown else Verdict.WRONG, subject, redact(str(error)))
