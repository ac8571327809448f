"""The status topic: publishes the controller's picture, and reads the newest one. What a picture is, `restow.picture`
defines: here it is keys and values.

The controller never waits for a picture: a record that can't be delivered is dropped, because a newer one follows
within seconds. A reader starts near the end of the topic and goes back until it has a whole picture.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Final, Generic, Protocol, Self, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as Place

from restow.backoff import News
from restow.errors import InvalidInput, RestowError
from restow.kafka.clients import make_producer, make_reader
from restow.kafka.errors import UNKNOWN_TOPIC, NoAnswer, NoSuchTopic, cause, ends_reading, explained
from restow.settings import Settings

log = logging.getLogger(__name__)

DELIVER_WITHIN_S: Final = 10.0
ANSWER_WITHIN_S: Final = 10.0
FIRST_BACK: Final = 50
"""Records to go back at first: a picture of a small group has one part, and a few changes follow it."""
FURTHER_BACK: Final = 10
AT_ONCE: Final = 500
READ_FOR_S: Final = 0.1
UNDELIVERED: Final = "pictures"

P_co = TypeVar("P_co", covariant=True)


class Assembler(Protocol[P_co]):
    """Puts the values of records together to a picture."""

    @property
    def picture(self) -> P_co | None:
        """The newest one; None before the first is whole."""

    def take(self, value: bytes, /) -> bool:
        """Returns whether the picture changed. Raises InvalidInput if this is no record of a picture."""


class StatusPublisher:
    def __init__(self, settings: Settings, headers: Mapping[str, str]) -> None:
        self._topic = settings.topics.status
        self._headers = [(name, text.encode(errors="replace")) for name, text in headers.items()]
        self._news = News()
        self.delivered_s: float | None = None
        """When Kafka last took a record, by the monotonic clock."""
        self._producer: Producer = make_producer(
            settings.kafka,
            {
                "compression.type": "zstd",
                "delivery.timeout.ms": round(DELIVER_WITHIN_S * 1000),
                "linger.ms": 0,
                "queue.buffering.max.kbytes": 64 << 10,
            },
        )

    def publish(self, records: Iterable[tuple[bytes, bytes]]) -> None:
        """Hands the records, keys and values, to Kafka's client and returns at once."""
        try:
            for key, value in records:
                self._producer.produce(
                    self._topic,
                    value,
                    key,
                    partition=0,
                    headers=list(self._headers),
                    on_delivery=self._delivered,
                )
        except BufferError:
            pass  # the brokers are away; the records before it will be reported as undelivered
        except KafkaException as exception:
            self._undelivered(cause(exception))
        self._producer.poll(0)

    def close(self) -> None:
        self._producer.flush(1.0)

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._undelivered(error)
            return
        self.delivered_s = time.monotonic()
        if self._news.is_over(UNDELIVERED):
            log.info("the group's picture is published again")

    def _undelivered(self, error: KafkaError) -> None:
        if self._news.is_new(UNDELIVERED, str(error.code())):
            log.warning("can't publish the group's picture to %s: %s; retrying", self._topic, error.str())


class StatusReader(Generic[P_co]):
    """Follows the picture of a group. Works wherever Kafka can be reached."""

    def __init__(self, settings: Settings, assembler: Callable[[], Assembler[P_co]]) -> None:
        self._topic, self._bootstrap = settings.topics.status, settings.kafka.bootstrap
        self._place = Place(self._topic, 0)
        self._group = settings.group.name
        self._new_assembler, self._assembler = assembler, assembler()
        self._client: Consumer = make_reader(settings.kafka, settings.group.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    @property
    def picture(self) -> P_co | None:
        return self._assembler.picture

    def newest(self) -> P_co | None:
        """Reads up to the topic's present end. Returns None if there is no picture yet. Raises RestowError."""
        return self._as_of(None)

    def as_of(self, time_ms: int) -> P_co | None:
        """The picture at a time in the past, in milliseconds since 1970. Returns None if the topic has none that is
        as old. Raises RestowError."""
        return self._as_of(time_ms)

    def _as_of(self, time_ms: int | None) -> P_co | None:
        try:
            first, end = self._client.get_watermark_offsets(self._place, timeout=ANSWER_WITHIN_S)
            if time_ms is not None:
                asked = Place(self._topic, 0, time_ms + 1)
                [found] = self._client.offsets_for_times([asked], timeout=ANSWER_WITHIN_S)
                if found.error is not None:
                    raise KafkaException(found.error)
                end = end if found.offset < 0 else min(end, int(found.offset))  # -1: no record is newer
            back = FIRST_BACK
            while True:
                start = max(first, end - back)
                self._read(start, end, is_past=time_ms is not None)
                if self.picture is not None or start == first:
                    return self.picture
                back *= FURTHER_BACK
        except KafkaException as exception:
            raise self._explained(cause(exception)) from None

    def follow(self, within_s: float) -> bool:
        """After `newest`: reads what has arrived, and waits at most this long for it. Returns whether the picture
        changed."""
        changed = False
        for record in self._client.consume(AT_ONCE, timeout=within_s):
            changed = self._taken(record) or changed
        return changed

    def check(self) -> bool:
        """After `newest`, when nothing has arrived for a while: returns whether the topic that is followed still
        exists, and was not deleted and created again. Raises RestowError if the brokers don't answer."""
        try:
            _, end = self._client.get_watermark_offsets(self._place, timeout=ANSWER_WITHIN_S)
            return end >= self._position(0)
        except KafkaException as exception:
            raise self._explained(cause(exception)) from None

    def _read(self, start: int, end: int, *, is_past: bool) -> None:
        """Reads to this end; of the past, nothing beyond it."""
        self._assembler = self._new_assembler()
        self._client.assign([Place(self._topic, 0, start)])  # also of an empty topic: `follow` goes on from there
        at, heard_s = start, time.monotonic()
        while at < end:
            for record in self._client.consume(AT_ONCE, timeout=READ_FOR_S):
                error = record.error()
                if error is not None and ends_reading(error):
                    raise KafkaException(error)
                offset = record.offset() or 0
                if error is None and not (is_past and offset >= end):
                    at, heard_s = offset + 1, time.monotonic()
                    self._taken(record)
            at = max(at, self._position(at))  # behind the last record, if compaction has removed those after it
            if time.monotonic() - heard_s > ANSWER_WITHIN_S:
                raise NoAnswer(f"can't read {self._topic}: {self._bootstrap} doesn't answer")

    def _position(self, otherwise: int) -> int:
        [place] = self._client.position([self._place])
        return int(place.offset) if place.offset >= 0 else otherwise

    def _taken(self, record: Any) -> bool:
        if record.error() is not None or record.value() is None:
            return False
        if not is_of_group(record, self._group):
            return False
        try:
            return self._assembler.take(record.value())
        except InvalidInput as error:
            log.warning("%s-0 at offset %s was skipped: %s", self._topic, record.offset(), error)
            return False

    def _explained(self, error: KafkaError) -> RestowError:
        if error.code() in UNKNOWN_TOPIC:
            return NoSuchTopic(
                f"there is no topic {self._topic}: no controller of group {self._group} has run on "
                f"{self._bootstrap} yet; start one with `restow controller`"
            )
        doing, right = f"read the group's picture on {self._topic}", f"Read on the topic {self._topic}"
        return explained(error, doing, right, self._bootstrap)


def is_of_group(record: Message, group: str) -> bool:
    """Whether a record of the status topic is of this group; several groups may share a prefix."""
    headers: Any = record.headers() or ()  # a list; the client's type also allows what can only be sent
    groups = [value for name, value in headers if name == "group"]
    return not groups or groups[0] == group.encode()
