"""A consumer's channel: it reads its own partition of the controller and query topics, and writes to partition 0.

Consumer N reads partition N of <prefix>-controller (commands) and of <prefix>-query (queries). It sends its messages to
partition 0 of <prefix>-controller, the controller's.

`roles/consumer.py` opens the mailbox before it sends ConsumerReady, and polls it during its other work. Reading starts
at the ends of both partitions: earlier records were meant for another incarnation. Only committed records are read,
because a fenced controller's transaction must not be obeyed.
"""

import logging
from types import TracebackType
from typing import Any, Final, Self

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaTopicPartition

from restow.consumer.events import CommandRead, CommandsReadTo, QueryRead
from restow.errors import RestowError
from restow.kafka.clients import make_consumer, make_producer
from restow.kafka.errors import NoAnswer, cause, explained
from restow.model import ConsumerId
from restow.protocol.channels import CONTROLLER, QUERY, decode_on
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery, StopConsumingCommand
from restow.protocol.messages.unions import FromConsumer
from restow.protocol.records import SkippedRecords, Undecodable, encode
from restow.settings import Settings

log = logging.getLogger(__name__)

ANSWER_WITHIN_S: Final = 10.0
MOST_AT_ONCE: Final = 100
CONTROLLERS_PARTITION: Final = 0

Letter = CommandRead | CommandsReadTo | QueryRead


class Mailbox:
    def __init__(self, settings: Settings, consumer: ConsumerId, sender: str) -> None:
        self._kafka, self._topics = settings.kafka, settings.topics
        self._sender, self._group = sender, settings.group.name
        self._commands = KafkaTopicPartition(settings.topics.controller, consumer)
        self._queries = KafkaTopicPartition(settings.topics.query, consumer)
        self._skipped = SkippedRecords()
        self._reader = make_consumer(
            settings.kafka,
            {
                "group.id": settings.group.name,  # librdkafka demands one; nothing is committed here
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
            },
        )
        self._producer = make_producer(
            settings.kafka,
            {
                "enable.idempotence": True,
                "linger.ms": 0,
                "delivery.timeout.ms": round(ANSWER_WITHIN_S * 1000),
            },
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reader.close()

    def open(self) -> None:
        """Starts reading at the present ends of both partitions. Raises RestowError."""
        places = [
            KafkaTopicPartition(place.topic, place.partition, self._end_of(place))
            for place in (self._commands, self._queries)
        ]
        self._reader.assign(places)

    def poll(self) -> list[Letter]:
        """Returns what has arrived, without waiting."""
        letters = (self._letter(message) for message in self._reader.consume(MOST_AT_ONCE, timeout=0))
        return [letter for letter in letters if letter is not None]

    def send(self, message: FromConsumer) -> int:
        """Returns the message's offset once the brokers acknowledged it. Raises one of the errors in errors.py."""
        delivered: list[tuple[KafkaError | None, int | None]] = []
        headers, value = encode(message, self._sender, self._group)
        try:
            self._producer.produce(
                self._topics.controller,
                value,
                partition=CONTROLLERS_PARTITION,
                headers=list(headers),
                on_delivery=lambda error, record: delivered.append((error, record.offset())),
            )
        except KafkaException as exception:
            raise self._explained(cause(exception), "send to the controller", "Write") from None
        self._producer.flush(ANSWER_WITHIN_S + 1.0)
        if not delivered:
            self._producer.purge()
            raise NoAnswer(f"can't send to the controller: {self._kafka.bootstrap} doesn't answer")
        error, offset = delivered[0]
        if error is not None or offset is None:
            raise self._explained(error or KafkaError(KafkaError._MSG_TIMED_OUT), "send to the controller", "Write")
        return offset

    def _letter(self, message: Message) -> Letter | None:
        is_command, offset = message.topic() == self._commands.topic, int(message.offset() or 0)
        error = message.error()
        if error is not None:
            is_end = error.code() == KafkaError._PARTITION_EOF
            return CommandsReadTo(offset) if is_command and is_end else None
        channel, place = (CONTROLLER, self._commands) if is_command else (QUERY, self._queries)
        headers: Any = message.headers()  # a list; the client's type also allows what can only be sent
        value = message.value()
        read = decode_on(channel, place.topic, place.partition, offset, headers, value, group=self._group)
        match read:
            case Undecodable():
                if self._skipped.is_new(read):
                    log.warning(str(read))
                return None
            case StartConsumingCommand() | StopConsumingCommand():
                return CommandRead(offset, read)
            case StateQuery():
                return self._query(read)
            case _:
                raise AssertionError(f"{type(read).__name__} does not belong on {message.topic()}")

    def _query(self, query: StateQuery) -> QueryRead | None:
        """Asks twice: a process that was suspended meanwhile finds its first request too old, whatever came of it. The
        controller would repeat its query much later."""
        error: RestowError | None = None
        for _ in range(2):
            try:
                return QueryRead(query, self._end_of(self._commands))
            except RestowError as failed:
                error = failed
        log.warning("not answering query %d of epoch %d, which will be repeated: %s", query.query, query.epoch, error)
        return None

    def _end_of(self, place: KafkaTopicPartition) -> int:
        doing = f"read the end of {place.topic}-{place.partition}"
        try:
            _, end = self._reader.get_watermark_offsets(place, timeout=ANSWER_WITHIN_S)
        except KafkaException as exception:
            raise self._explained(cause(exception), doing, "Read") from None
        return end

    def _explained(self, error: KafkaError, doing: str, right: str) -> RestowError:
        return explained(error, doing, f"{right} on the topics of restow", self._kafka.bootstrap)
