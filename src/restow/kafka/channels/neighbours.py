"""Looks, before a controller starts, whether two groups would share topics, or one group two sets of topics.

A group uses a topic if its processes write to it now: the topic's last minutes have a record of it, and another one
arrives while we watch. So a group that has ended, even a moment ago, blocks no other group, and a group without
neighbours starts without a wait.

A record's group is in its header. Consumers of versions without the header are known by their name, which is the
sender's.
"""

import itertools
import logging
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import OFFSET_END, Consumer, KafkaException, Message
from confluent_kafka import TopicPartition as Place

from restow.errors import InvalidInput
from restow.kafka.clients import make_consumer
from restow.kafka.errors import UNREACHABLE, NoAnswer, cause, explained
from restow.protocol.channels import CONTROLLER
from restow.protocol.records import GROUP, SENDER, Headers, texts_of
from restow.settings import Settings
from restow.settings.sections.group import OLD_PREFIX

log = logging.getLogger(__name__)

LOOK_BACK_S: Final = 300.0
"""Records carry their sender's clock: this is more than clocks should differ."""
MOST_RECORDS: Final = 2_000
"""Read back of the controller topic. 100 consumers write as many in 100 s."""
MOST_MEASUREMENTS: Final = 3
"""Read back of the monitor topic. There are one or more a second, and each may have 500 kB."""
WATCH_S: Final = 20.0
"""Four reports of a consumer with the default `report_every_s`."""
ANSWER_WITHIN_S: Final = 10.0
POLL_S: Final = 0.2
AT_ONCE: Final = 500
CONSUMER_NAME: Final = re.compile(r"(?P<group>[a-z][a-z0-9-]*)-consumer-[1-9][0-9]*@.*")


class TopicsInUse(InvalidInput):
    """Another group uses this group's topics, or this group's consumers use others. The message says what to write."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A record of a group on a topic."""

    topic: str
    group: str
    sender: str


def group_of(headers: Headers) -> tuple[str | None, str]:
    """The group whose record it is, None if that can't be known, and the sender."""
    try:
        texts = texts_of(headers)
    except InvalidInput:
        return None, ""
    sender = texts.get(SENDER, "")
    named = CONSUMER_NAME.fullmatch(sender)
    return texts.get(GROUP, named["group"] if named else None), sender


def check_topics(settings: Settings, existing: Collection[str], is_stopping: Callable[[], bool]) -> None:
    """Raises TopicsInUse if the group must not start, and other RestowErrors if that can't be found out. `existing`
    are the topics of the cluster; `is_stopping` is called several times a second, and ends a wait."""
    Neighbourhood(settings, existing).check(is_stopping)


class Neighbourhood:
    def __init__(self, settings: Settings, existing: Collection[str]) -> None:
        self._settings, self._existing = settings, existing
        self._group, self._prefix = settings.group.name, settings.topics.prefix
        self._old = None if self._prefix == OLD_PREFIX else CONTROLLER.topic(OLD_PREFIX)
        ours = (settings.topics.controller, settings.topics.monitor)
        self._watched = [name for name in (*ours, self._old) if name is not None and name in existing]

    def check(self, is_stopping: Callable[[], bool]) -> None:
        if not self._watched:
            return
        own = {
            "group.id": f"{self._group}-controller",  # never joined: librdkafka wants a name
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "latest",
            "allow.auto.create.topics": False,
        }
        with closing(make_consumer(self._settings.kafka, own)) as reader:
            try:
                suspect = next(self._clashes(self._recent(reader)), None)
                if suspect is not None and (seen := self._watch(reader, suspect, is_stopping)) is not None:
                    raise TopicsInUse(self._advice(seen))
            except KafkaException as exception:
                bootstrap = self._settings.kafka.bootstrap
                doing, right = "look for other groups on restow's topics", "Read on the topics of restow"
                raise explained(cause(exception), doing, right, bootstrap) from None

    def _recent(self, reader: Consumer) -> list[Message]:
        """The last records of the watched topics, up to their ends."""
        since_ms = round((time.time() - LOOK_BACK_S) * 1000)
        starts = reader.offsets_for_times([Place(name, 0, since_ms) for name in self._watched], timeout=ANSWER_WITHIN_S)
        readable = [place for place in starts if place.error is None]
        ends: dict[str, int] = {}
        for place in readable:
            topic = place.topic or ""
            _, ends[topic] = reader.get_watermark_offsets(Place(topic, 0), timeout=ANSWER_WITHIN_S)
            most = MOST_MEASUREMENTS if topic == self._settings.topics.monitor else MOST_RECORDS
            place.offset = ends[topic] if place.offset == OFFSET_END else max(place.offset, ends[topic] - most)
        reader.assign(readable)
        return self._read_to(reader, ends)

    def _read_to(self, reader: Consumer, ends: Mapping[str, int]) -> list[Message]:
        """Reads each topic to its offset in `ends`. A busy topic has no end at which Kafka's client would say so, and a
        quiet one may have transaction markers there, which it skips."""
        left, found, heard_s = set(ends), list[Message](), time.monotonic()
        while left:
            for record in reader.consume(AT_ONCE, timeout=POLL_S):
                heard_s, error, topic = time.monotonic(), record.error(), record.topic() or ""
                if error is None:
                    found.append(record)
                    is_read = (record.offset() or 0) >= ends[topic] - 1
                else:  # its end; or the right to read it is missing, or it was deleted
                    is_read = error.code() not in UNREACHABLE
                if is_read:
                    left.discard(topic)
            if time.monotonic() - heard_s > ANSWER_WITHIN_S:
                names, bootstrap = ", ".join(sorted(left)), self._settings.kafka.bootstrap
                raise NoAnswer(f"can't read {names}: {bootstrap} doesn't answer")
        return found

    def _watch(self, reader: Consumer, suspect: Sighting, is_stopping: Callable[[], bool]) -> Sighting | None:
        """Returns the first record of a neighbour that arrives, or None if none does."""
        log.warning(
            "group %s wrote to %s in the last minutes; watching for %g s whether it still does",
            *(suspect.group, suspect.topic, WATCH_S),
        )
        until_s = time.monotonic() + WATCH_S
        while time.monotonic() < until_s:
            if is_stopping():
                return None
            arrived = [each for each in reader.consume(AT_ONCE, timeout=POLL_S) if each.error() is None]
            if (seen := next(self._clashes(arrived), None)) is not None:
                return seen
        log.info("group %s no longer writes to %s", suspect.group, suspect.topic)
        return None

    def _clashes(self, records: Sequence[Message]) -> Iterator[Sighting]:
        """What must not be: our own group on the old topics, another one on ours."""
        for record in records:
            headers: Any = record.headers()  # a list; the client's type also allows what can only be sent
            (group, sender), topic = group_of(headers), record.topic() or ""
            if group is not None and (group == self._group) == (topic == self._old):
                yield Sighting(topic, group, sender)

    def _advice(self, seen: Sighting) -> str:
        written = f"({seen.sender or 'one of its processes'} writes to {seen.topic})"
        if seen.topic == self._old:
            clash, prefix = f"consumers of this group use {OLD_PREFIX}-* {written}", OLD_PREFIX
        else:
            clash, prefix = f"group {seen.group} uses these topics {written}", self._free_prefix()
        given = f'[topics] prefix is "{self._prefix}", but {clash}'
        return f'{given}; write [topics] prefix = "{prefix}", or end them first'

    def _free_prefix(self) -> str:
        """The group's name, or else the first unused name made from it."""
        names = itertools.chain([self._group], (f"{self._group}-{number}" for number in itertools.count(2)))
        return next(name for name in names if CONTROLLER.topic(name) not in self._existing and name != self._prefix)
