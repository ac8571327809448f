"""Reads the status topic from a time in the past to its end, a few records at a time: the page's last day."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final, NamedTuple

from confluent_kafka import OFFSET_END, Consumer, KafkaException
from confluent_kafka import TopicPartition as Place

from restow.kafka.channels.status import is_of_group
from restow.kafka.clients import make_reader
from restow.kafka.errors import cause, explained
from restow.settings import Settings

ANSWER_WITHIN_S: Final = 10.0
AT_ONCE: Final = 50
WAIT_S: Final = 0.05
"""Short, because the newest picture waits as long."""
AHEAD_KB: Final = 4_096
"""Prefetched records, in kB: a day of a large group has hundreds of megabytes."""


class StatusRecord(NamedTuple):
    time_ms: int
    key: bytes
    value: bytes


def read_status(settings: Settings, since_ms: int) -> Iterator[list[StatusRecord]]:
    """Yields the group's records since then, up to the topic's present end; an empty list while none has arrived.
    Raises RestowError."""
    topic = settings.topics.status
    own = {"queued.max.messages.kbytes": AHEAD_KB}
    with closing(make_reader(settings.kafka, settings.group.name, own)) as client:
        try:
            yield from _read(client, settings, since_ms)
        except KafkaException as exception:
            doing, right = f"read the group's pictures on {topic}", f"Read on the topic {topic}"
            raise explained(cause(exception), doing, right, settings.kafka.bootstrap) from None


def _read(client: Consumer, settings: Settings, since_ms: int) -> Iterator[list[StatusRecord]]:
    place = Place(settings.topics.status, 0)
    _, end = client.get_watermark_offsets(place, timeout=ANSWER_WITHIN_S)
    [found] = client.offsets_for_times([Place(place.topic, 0, since_ms)], timeout=ANSWER_WITHIN_S)
    if found.error is not None:
        raise KafkaException(found.error)
    if found.offset in (OFFSET_END, end):
        return
    client.assign([found])
    at = int(found.offset)
    while at < end:
        records = client.consume(AT_ONCE, timeout=WAIT_S)
        for record in records:
            error = record.error()
            if error is not None and not error.retriable():
                raise KafkaException(error)
        [position] = client.position([place])  # behind records that compaction has removed
        at = max(at, int(position.offset))
        yield [_status_record(record) for record in records if _is_picture(record, settings.group.name)]


def _is_picture(record: Any, group: str) -> bool:
    return record.error() is None and record.value() is not None and is_of_group(record, group)


def _status_record(record: Any) -> StatusRecord:
    return StatusRecord(record.timestamp()[1], record.key() or b"", record.value())
