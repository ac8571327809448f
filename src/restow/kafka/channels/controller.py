"""The controller's channel: transactional writes, fencing of older controllers, and everything the controller reads.

The controller writes in transactions under one transactional id per group: commands to partition N of
<prefix>-controller and queries to partition N of <prefix>-query for consumer N, its own records to partition 0 of
<prefix>-controller. A newer controller with the same id fences the older one, whose next commit fails; the older one
then ends without another change. The offset of a controller's ControllerStarted record is its epoch.

It reads partition 0 of <prefix>-controller from its epoch on, <prefix>-service from the beginning, and <prefix>-monitor
from its present end. Before it is in charge (`watch`) it has no producer and fences no other controller: it reads the
end of partition 0 for the records of the controller that is.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Final, Self, get_args

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as KafkaTopicPartition

from restow.backoff import Backoff
from restow.errors import RestowError
from restow.kafka.clients import make_consumer, make_producer
from restow.kafka.errors import cause, explained
from restow.model import ConsumerId
from restow.protocol.channels import CONTROLLER, SERVICE, MeasurementReader, decode_on
from restow.protocol.codec import TAG
from restow.protocol.measurement import Measurement
from restow.protocol.measurement_parts import PART, is_last_part
from restow.protocol.messages.commands import StateQuery
from restow.protocol.messages.consumer_events import ConsumerReady
from restow.protocol.messages.controller_events import ControllerStarted, ControllerStopped
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.messages.unions import Command, OfController
from restow.protocol.messages.unions import Message as ProtocolMessage
from restow.protocol.records import SENDER, Undecodable, encode, header_in, key_of
from restow.settings import Settings

log = logging.getLogger(__name__)

ANSWER_WITHIN_S: Final = 10.0
ALIVE_EVERY_S: Final = 1.0
"""How often an idle partition 0 is probed: does its leader still answer?"""
BEHIND_S: Final = 3.0
"""A partition 0 of which no record is unread for longer is read to its end."""
AT_ONCE: Final = 500
INTERRUPTED_WITHIN_S: Final = 0.02
"""How soon a wait for records ends when it is interrupted. Kafka's client can't be woken, so it is asked this often."""
LOOK_BACK: Final = 10_000
"""How many records of partition 0 a starting controller reads. It finds the last controller among them unless consumers
have reported for long without one; then it waits, as it does for a controller that is silent."""
STOPPED_WITHIN_S: Final = 5.0
"""How long a controller that ends waits for brokers that don't answer."""
SIGNS: Final = frozenset(kind.__name__ for kind in get_args(OfController))
REPORTS: Final = frozenset([ConsumerReady.__name__, ConsumerReport.__name__])
BACKOFF: Final = Backoff(first_s=0.2, longest_s=5.0)
FENCED: Final = frozenset(
    [
        KafkaError._FENCED,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.TRANSACTION_COORDINATOR_FENCED,
    ]
)


class Replaced(RestowError):
    """Another controller has taken over this group. This one must end without another change."""


@dataclass(frozen=True, slots=True)
class Read:
    """A record and its offset."""

    offset: int
    message: ProtocolMessage | Measurement | Undecodable


@dataclass(frozen=True, slots=True)
class Addressed:
    """A message to a consumer, in the version that the consumer understands; None is the newest."""

    consumer: ConsumerId
    message: Command | StateQuery
    version: int | None = None


class ControllerChannel:
    def __init__(self, settings: Settings, name: str, pause: Callable[[float], None] = time.sleep) -> None:
        """`pause` waits this many seconds between two attempts while brokers don't answer. It may raise, to give up:
        whether the running transaction is committed is then unknown, as after a crash."""
        self._settings, self._topics, self._name = settings, settings.topics, name
        self._group, self._pause = settings.group.name, pause
        self._transactional_id = own = f"{self._group}-controller"
        self._made: Producer | None = None
        self._consumer: Consumer = make_consumer(
            settings.kafka,
            {
                "group.id": own,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
            },
        )
        self._measurements = MeasurementReader(self._group)
        self._at_end: set[str] = set()
        self._reports: dict[str, tuple[float, Message]] = {}
        """The last report that a standby has read of each process, by its sender, and when it was read."""
        self._alive_s = 0.0
        self._asked_s, self._end = 0.0, 0
        """When the brokers were last asked for the end of partition 0, and their answer."""
        self._read_to_end_of_s = -BEHIND_S
        """When the last such end was asked for that has been read to."""
        self._is_failing = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._consumer.close()

    def watch(self) -> bool:
        """Starts to read the records of the controller in charge, from the last `LOOK_BACK` records on. Returns whether
        these are all that the partition has."""
        first, end = self._ends_of(self._topics.controller)
        start = max(first, end - LOOK_BACK)
        self._begin_to_read()
        self._consumer.assign([KafkaTopicPartition(self._topics.controller, 0, start)])
        return start == first

    def signs(self, within_s: float) -> list[OfController]:
        """The records of controllers that have arrived since `watch`, in order; waits at most `within_s` for them. The
        many records of consumers are not decoded; the last one of each process is kept for `reporting`. Raises
        NotAllowed if it may not read the topic: it would wait for ever."""
        found = []
        for record in self._arrived(within_s, self._raise_if_not_allowed):
            headers: Any = record.headers()
            kind = header_in(headers, TAG)
            if kind in SIGNS:
                sign = self._decoded(record)
                found += [sign] if isinstance(sign, OfController) else []
            elif kind in REPORTS and (sender := header_in(headers, SENDER)) is not None:
                self._reports[sender] = (time.monotonic(), record)
        return found

    def reporting(self, within_s: float) -> list[ConsumerReady | ConsumerReport]:
        """The last message of each consumer's process that this standby has read in the last seconds."""
        since_s = time.monotonic() - within_s
        read = (self._decoded(record) for read_s, record in self._reports.values() if read_s >= since_s)
        return [message for message in read if isinstance(message, ConsumerReady | ConsumerReport)]

    def take_over(self, started: ControllerStarted | None = None) -> int:
        """Fences every older controller of the group and returns the epoch. Raises RestowError."""
        doing, started = "take over the group", started or ControllerStarted(self._name)
        try:
            self._until_done(lambda: self._producer.init_transactions(ANSWER_WITHIN_S), doing)
        except KafkaException as exception:
            right = f"Write on the transactional id {self._transactional_id}"
            raise explained(cause(exception), doing, right, self._bootstrap) from None
        epoch = self._transact([(self._topics.controller, 0, None, started)])[0]
        self._begin_to_read()
        self._consumer.assign(
            [
                KafkaTopicPartition(self._topics.controller, 0, epoch + 1),
                KafkaTopicPartition(self._topics.service, 0, OFFSET_BEGINNING),
                KafkaTopicPartition(self._topics.monitor, 0, self._ends_of(self._topics.monitor)[1]),
            ]
        )
        return epoch

    def send(self, messages: Sequence[Addressed], own: OfController | None) -> None:
        """Sends all in one transaction, with a record of the controller itself, and returns when it is committed.
        Raises Replaced if another controller fenced this one."""
        records: list[tuple[str, int, int | None, ProtocolMessage]] = [
            (
                self._topics.query if isinstance(each.message, StateQuery) else self._topics.controller,
                each.consumer,
                each.version,
                each.message,
            )
            for each in messages
        ]
        if own is not None:
            records.append((self._topics.controller, 0, None, own))
        self._transact(records)

    def say_last(self, stopped: ControllerStopped) -> bool:
        """Sends the last record of a controller that ends, if the brokers answer in time. Returns whether they did."""
        try:
            self._producer.begin_transaction()
            self._produce(self._topics.controller, 0, None, stopped, [])
            self._producer.commit_transaction(STOPPED_WITHIN_S)
        except KafkaException:
            return False
        return True

    def read(self, within_s: float, is_interrupted: Callable[[], bool] = lambda: False) -> Iterator[Read]:
        """Yields the records that have arrived, in order within each partition; waits at most `within_s` for them, and
        no longer when `is_interrupted`."""
        for record in self._arrived(within_s, is_interrupted=is_interrupted):
            message = self._decoded(record)
            if message is not None:
                yield Read(record.offset() or 0, message)

    def _begin_to_read(self) -> None:
        """Nothing is known of the ends of the partitions that are assigned next."""
        self._at_end.clear()
        self._asked_s, self._read_to_end_of_s = 0.0, -BEHIND_S

    def _raise_if_not_allowed(self, error: KafkaError) -> None:
        if error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            right = f"Read on the topic {self._topics.controller}"
            raise explained(error, "see which controller is in charge", right, self._bootstrap)

    def _arrived(
        self,
        within_s: float,
        on_error: Callable[[KafkaError], None] = lambda _: None,
        is_interrupted: Callable[[], bool] = lambda: False,
    ) -> Iterator[Message]:
        for record in self._taken(within_s, is_interrupted):
            error = record.error()
            if error is None:
                self._at_end.discard(record.topic() or "")
                self._alive_s = time.monotonic()
                yield record
            elif error.code() == KafkaError._PARTITION_EOF:
                self._at_end.add(record.topic() or "")
                self._alive_s = time.monotonic()
            else:
                on_error(error)

    def _taken(self, within_s: float, is_interrupted: Callable[[], bool]) -> list[Message]:
        """What arrives in time; returns at once with an urgent record, or if it `is_interrupted`. (Kafka's
        `consume(500, …)` would wait until there are 500.)"""
        taken: list[Message] = []
        deadline_s = time.monotonic() + within_s
        while len(taken) < AT_ONCE:
            left_s = max(0.0, deadline_s - time.monotonic())
            first = self._consumer.poll(min(left_s, INTERRUPTED_WITHIN_S))
            if first is None and left_s <= INTERRUPTED_WITHIN_S:
                break
            new = [] if first is None else [first, *self._consumer.consume(AT_ONCE - len(taken), 0)]
            taken += new
            if any(map(self._is_urgent, new)) or is_interrupted():
                break
        return taken

    def _is_urgent(self, record: Message) -> bool:
        """Whether a partition may wait for it. Reports and parts of measurements come all the time: a round for each
        would cost a large group more than it gains. The last part, which may show an overload, comes once a second."""
        headers: Any = record.headers()
        if record.error() is not None:
            return False
        if record.topic() == self._topics.monitor:
            return is_last_part(header_in(headers, PART))
        return header_in(headers, TAG) != ConsumerReport.__name__

    @property
    def has_read_services(self) -> bool:
        """Whether the service topic has been read to its end."""
        return self._topics.service in self._at_end

    def is_listening(self, *, may_ask: bool = True) -> bool:
        """Whether partition 0 has been read to where it ended a moment ago, and its leader answers. Kafka's client
        reports an end only if nothing arrives for half a second, which never happens in a large group. So the leader is
        asked once a second, if it `may` be: the answer comes after that of the fetch under way, which waits for the
        next record, for up to half a second."""
        place, now_s = KafkaTopicPartition(self._topics.controller, 0), time.monotonic()
        if place.topic in self._at_end and now_s - self._alive_s <= ALIVE_EVERY_S:
            return True
        if may_ask and now_s - self._asked_s > ALIVE_EVERY_S:
            try:
                _, self._end = self._consumer.get_watermark_offsets(place, timeout=ALIVE_EVERY_S, cached=False)
            except KafkaException:
                return False
            self._asked_s = self._alive_s = time.monotonic()
        if now_s - self._alive_s > 2 * ALIVE_EVERY_S:
            return False
        if self._consumer.position([place])[0].offset >= self._end:
            self._read_to_end_of_s = self._asked_s
        return place.topic in self._at_end or now_s - self._read_to_end_of_s <= BEHIND_S

    def acted_on(self, offset: int) -> None:
        """Commits the offset of the last record acted on, for tools that show lag. A controller itself starts at its
        epoch."""
        place = KafkaTopicPartition(self._topics.controller, 0, offset + 1)
        self._consumer.commit(offsets=[place], asynchronous=True)

    def learn_partitions(self) -> None:
        """Refreshes the producer's metadata after partitions were added: it can't send to unknown ones."""
        for topic in (self._topics.controller, self._topics.query):
            ask = partial(self._producer.list_topics, topic, timeout=ANSWER_WITHIN_S)
            self._until_done(ask, f"read how many partitions {topic} has", harmless=True)

    @property
    def _producer(self) -> Producer:
        """Made when it is first needed: a standby has none."""
        if self._made is None:
            self._made = make_producer(
                self._settings.kafka,
                {
                    "transactional.id": self._transactional_id,
                    "transaction.timeout.ms": 30_000,
                    "linger.ms": 0,
                    "acks": "all",
                },
            )
        return self._made

    def _ends_of(self, topic: str) -> tuple[int, int]:
        """The first offset of partition 0, and the one after its last."""
        found: list[tuple[int, int]] = []

        def ask() -> None:
            place = KafkaTopicPartition(topic, 0)
            found.append(self._consumer.get_watermark_offsets(place, ANSWER_WITHIN_S, cached=False))

        self._until_done(ask, f"read the end of {topic}", harmless=True)
        return found[-1]

    def _decoded(self, record: Message) -> ProtocolMessage | Measurement | Undecodable | None:
        """Returns None for a part of a measurement that does not complete it."""
        topic, partition, offset = record.topic() or "", record.partition() or 0, record.offset() or 0
        headers: Any = record.headers()
        value, key = record.value(), record.key()
        content = None if value is None else bytes(value)
        if topic == self._topics.monitor:
            return self._measurements.read(topic, partition, offset, headers, content)
        channel = SERVICE if topic == self._topics.service else CONTROLLER
        key_bytes = None if key is None else bytes(key)
        return decode_on(channel, topic, partition, offset, headers, content, key_bytes, group=self._group)

    def _transact(self, records: Sequence[tuple[str, int, int | None, ProtocolMessage]]) -> list[int]:
        """Writes the records in one transaction and returns their offsets."""
        while True:
            offsets: list[int] = []
            try:
                self._producer.begin_transaction()
                for topic, partition, version, message in records:
                    self._produce(topic, partition, version, message, offsets)
                self._until_done(lambda: self._producer.commit_transaction(ANSWER_WITHIN_S), "commit a transaction")
            except KafkaException as exception:
                self._abort(cause(exception))
                continue
            return offsets

    def _produce(
        self, topic: str, partition: int, version: int | None, message: ProtocolMessage, offsets: list[int]
    ) -> None:
        headers, value = encode(message, self._name, self._group, version)

        def delivered(error: KafkaError | None, record: Message) -> None:
            if error is None:
                offsets.append(record.offset() or 0)

        self._producer.produce(
            topic, value, key=key_of(message), partition=partition, headers=list(headers), on_delivery=delivered
        )

    def _abort(self, error: KafkaError) -> None:
        """Aborts after an error that affects only this transaction, so that it can be retried; raises any other."""
        self._raise_if_final(error)
        if not error.txn_requires_abort() and not error.retriable():
            raise explained(error, "send", f"Write on the topic {self._topics.controller}", self._bootstrap)
        self._until_done(lambda: self._producer.abort_transaction(ANSWER_WITHIN_S), "abort a transaction")

    def _until_done(self, call: Callable[[], object], doing: str, *, harmless: bool = False) -> None:
        """Retries with backoff while brokers don't answer. A `harmless` call is retried after any error: librdkafka
        marks errors as retriable only in transactions."""
        failures = 0
        while True:
            try:
                call()
            except KafkaException as exception:
                error = cause(exception)
                self._raise_if_final(error)
                if not harmless and (error.txn_requires_abort() or not error.retriable()):
                    raise
                if not self._is_failing:
                    log.warning("can't %s: %s doesn't answer (%s); retrying", doing, self._bootstrap, error.str())
                    self._is_failing = True
                failures += 1
                self._pause(BACKOFF.pause_s(failures))
                continue
            if self._is_failing:
                log.info("the brokers answer again")
                self._is_failing = False
            return

    def _raise_if_final(self, error: KafkaError) -> None:
        if error.code() in FENCED:
            raise Replaced("another controller has taken over this group; this one ends and changes nothing more")
        if error.fatal():
            raise RestowError(f"Kafka's client failed for good: {error.str()}; restart the controller")

    @property
    def _bootstrap(self) -> str:
        return self._settings.kafka.bootstrap
