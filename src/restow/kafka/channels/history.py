"""Reads the history on the monitor topic: for `restow record`, `restow plan` and the lag in a picture."""

import logging
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from datetime import datetime
from typing import Any, Final

from confluent_kafka import OFFSET_END, Consumer, KafkaException
from confluent_kafka import TopicPartition as Place

from restow.kafka.clients import make_reader
from restow.kafka.errors import NoAnswer, cause, ends_reading, explained
from restow.protocol.channels import MeasurementReader
from restow.protocol.measurement import Measurement
from restow.protocol.measurement_parts import PART
from restow.protocol.records import Headers, SkippedRecords, header_in
from restow.settings import Settings

log = logging.getLogger(__name__)

ANSWER_WITHIN_S: Final = 10.0
AT_ONCE: Final = 100
FRESH_S: Final = 30.0
"""An older measurement is stale, and the controller does not scale by it."""


def read_history(
    settings: Settings, since_ms: int, client: str | None = None, is_due: Callable[[float], bool] = lambda _: True
) -> Generator[Measurement]:
    """Yields the measurements published from this time on, up to the topic's present end. `client` names the reader
    after the group; without it, it has the group's own name. `is_due` gets the time at which a measurement was
    published, in seconds since 1970; measurements that are not due are skipped without being decoded. Raises
    RestowError."""
    topic, bootstrap = settings.topics.monitor, settings.kafka.bootstrap
    name = settings.group.name if client is None else f"{settings.group.name}-{client}"
    with closing(make_reader(settings.kafka, name)) as reader:
        try:
            yield from _read(reader, settings, since_ms, is_due)
        except KafkaException as exception:
            doing, right = f"read the measurements on {topic}", f"Read on the topic {topic}"
            raise explained(cause(exception), doing, right, bootstrap) from None


def newest_measurement(settings: Settings) -> Measurement | None:
    """Returns None if there is none that is fresh. Raises RestowError."""
    newest = deque(read_history(settings, since_ms=round((time.time() - FRESH_S) * 1000)), maxlen=1)
    return newest[0] if newest else None


def measurement_of(settings: Settings, measured_at: str) -> Measurement | None:
    """The measurement of this time, as it names it. Returns None if the topic does not have it any more."""
    since_ms = round(datetime.fromisoformat(measured_at).timestamp() * 1000)
    with closing(read_history(settings, since_ms)) as measurements:
        first = next(measurements, None)  # it is published at once, and no other is as old
    return first if first is not None and first.time == measured_at else None


def _read(
    client: Consumer, settings: Settings, since_ms: int, is_due: Callable[[float], bool]
) -> Iterator[Measurement]:
    topic = settings.topics.monitor
    _, end = client.get_watermark_offsets(Place(topic, 0), timeout=ANSWER_WITHIN_S)
    [found] = client.offsets_for_times([Place(topic, 0, since_ms)], timeout=ANSWER_WITHIN_S)
    if found.error is not None:
        raise KafkaException(found.error)
    if found.offset in (OFFSET_END, end):
        return
    client.assign([found])
    reader, is_taken = MeasurementReader(settings.group.name), False
    skipped, at, heard_s = SkippedRecords(), int(found.offset), time.monotonic()
    while at < end:
        records = client.consume(AT_ONCE, timeout=1.0)
        for record in records:
            error, offset = record.error(), record.offset()
            if error is not None and ends_reading(error):
                raise KafkaException(error)
            if error is not None or offset is None or at >= end:
                continue
            at, heard_s = offset + 1, time.monotonic()
            headers: Any = record.headers()  # a list; the client's type also allows what can only be sent
            if _is_first(headers):
                is_taken = is_due(record.timestamp()[1] / 1000)
            measured = reader.read(topic, 0, offset, headers, record.value()) if is_taken else None
            if isinstance(measured, Measurement):
                yield measured
            elif measured is not None and skipped.is_new(measured):
                log.warning("%s", measured)
        if time.monotonic() - heard_s > ANSWER_WITHIN_S:
            raise NoAnswer(f"can't read the measurements on {topic}: {settings.kafka.bootstrap} doesn't answer")


def _is_first(headers: Headers) -> bool:
    """Whether a measurement begins here, and is not a later part of one."""
    part = header_in(headers, PART)
    return part is None or part.startswith("0/")
