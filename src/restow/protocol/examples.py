"""One example of each message and version, for docs/protocol.md and the golden files of the tests."""

from dataclasses import replace
from typing import Final

from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.field_types import RECOVER, Options, StartFrom
from restow.protocol.measurement import Measurement, PartitionSpeed
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery, StopConsumingCommand
from restow.protocol.messages.consumer_events import (
    ConsumerReady,
    ConsumingRefused,
    StartConsumingEvent,
    StateQueryResponse,
    StopConsumingEvent,
)
from restow.protocol.messages.controller_events import (
    ControllerAlive,
    ControllerStarted,
    ControllerStopped,
    PlatformChangeIntended,
)
from restow.protocol.messages.desired import ConsumerRestart, GroupPause, PartitionPin, RecommendOnly
from restow.protocol.messages.reports import ConsumerReport, Work
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.messages.unions import Message
from restow.protocol.platform_identity import PlatformIdentity
from restow.protocol.topic_service import TopicService

CLICKS_2: Final = TopicPartition("clicks", 2)
ORDERS_0: Final = TopicPartition("orders", 0)
ORDERS_1: Final = TopicPartition("orders", 1)

ORDERS: Final = TopicService("lake/orders", "shop.tables:orders", "2026-03-01T12:00:00Z")
CLICKS: Final = TopicService("lake/clicks", start="latest", refuses_late_writes=False)
OPTIONS: Final[Options] = SortedMapping([("currency", "EUR"), ("least", 10)])
PAYMENTS: Final = TopicService(
    "lake/{topic}",
    "shop.tables:payments",
    format="avro",
    registry="http://registry:8081",
    options=OPTIONS,
)
REFUNDS: Final = TopicService(
    "lake/refunds", format="json", schema="refunds.json", sql="select id, amount from records where amount > 0"
)
RETURNS: Final = TopicService("lake/returns", "shop:returns", evolve="none", partition_by=("day(at)", "country"))
DIGESTS: Final = SortedMapping({"clicks": "9bd80d73400e", "orders": "7d6d26731f0e"})
STARTS: Final[dict[TopicPartition, StartFrom]] = {CLICKS_2: RECOVER, ORDERS_0: 81240, ORDERS_1: RECOVER}

REPORT: Final = ConsumerReport(
    consumer=ConsumerId(1),
    incarnation=790,
    lag_records=SortedMapping({CLICKS_2: 0, ORDERS_0: 311}),
    definitions=DIGESTS,
    records_per_s=1250.5,
    bytes_per_s=512000.0,
    saturated=False,
    cycle_s_mean=0.75,
    cycle_s_max=1.5,
)

EXAMPLES: Final[tuple[Message, ...]] = (
    ControllerStarted(controller="host-a, process 4711"),
    ControllerAlive(
        epoch=812,
        controller="host-a-4711",
        platform=PlatformIdentity("processes-5d0b1f6a93ce", "host-a:/srv/lake/restow-data"),
        lock="controller-4711-9f86d081",
    ),
    ControllerStopped(epoch=812, controller="host-a-4711"),
    PlatformChangeIntended(epoch=812, create=(ConsumerId(3), ConsumerId(4)), delete=(ConsumerId(2),)),
    StartConsumingCommand(
        epoch=812,
        sequence=7,
        incarnation=790,
        topics=SortedMapping({"clicks": CLICKS, "orders": ORDERS}),
        partitions=SortedMapping(STARTS),
    ),
    StopConsumingCommand(epoch=812, sequence=8, incarnation=790, partitions=(CLICKS_2, ORDERS_1)),
    StartConsumingEvent(
        consumer=ConsumerId(1),
        incarnation=790,
        epoch=812,
        sequence=7,
        partitions=SortedMapping({CLICKS_2: 0, ORDERS_0: 81240, ORDERS_1: 79802}),
    ),
    StopConsumingEvent(
        consumer=ConsumerId(1),
        incarnation=790,
        epoch=812,
        sequence=8,
        partitions=SortedMapping({CLICKS_2: None, ORDERS_1: 80117}),
    ),
    ConsumingRefused(
        consumer=ConsumerId(1),
        incarnation=790,
        epoch=812,
        sequence=7,
        partitions=(ORDERS_0, ORDERS_1),
        kind="transform",
        reason="there is no module 'shop' — is it installed?",
    ),
    ConsumerReady(
        consumer=ConsumerId(1),
        clean=False,
        partitions=(CLICKS_2, ORDERS_0),
        definitions=DIGESTS,
        versions=SortedMapping({"StartConsumingCommand": 1, "StateQuery": 1, "StopConsumingCommand": 1}),
    ),
    StateQuery(epoch=812, query=1),
    StateQueryResponse(
        consumer=ConsumerId(1),
        incarnation=790,
        epoch=812,
        query=1,
        partitions=SortedMapping({CLICKS_2: 12, ORDERS_0: 81240}),
        definitions=DIGESTS,
        last_sequence=8,
    ),
    REPORT,
    ServiceUpdate("add", "orders", ORDERS),
    GroupPause(True, "2026-03-01T14:00:00Z", "anna@host-a", "2026-03-01T12:00:00Z", "the brokers are upgraded"),
    RecommendOnly(True, "anna@host-a", "2026-03-01T12:00:00Z", "a week of looking on"),
    ConsumerRestart(ConsumerId(2), 790, "anna@host-a", "2026-03-01T12:00:00Z", "its disk was replaced"),
    PartitionPin(
        ORDERS_0, ConsumerId(2), "2026-03-01T13:00:00Z", "anna@host-a", "2026-03-01T12:00:00Z", "to watch it alone"
    ),
)

REPORT_WITH_WORK: Final = replace(
    REPORT, work=Work(cycles=3, busy_s=2.125, bytes=SortedMapping({"clicks": 1_200_000, "orders": 4_096_000}))
)
"""A report of a consumer whose cycles say something about its capacity."""

CONSUMERS_UPDATE: Final = ServiceUpdate(
    "consumers",
    consumers=ConsumerSettings(
        image="shop/consumer:1.4",
        memory_mb=2048,
        cores=1.5,
        capacity_bytes_per_s=3_000_000.0,
        env=SortedMapping({"LOG_LEVEL": "debug"}),
    ),
)
"""The other kind of update."""

IN_VERSION_2: Final[tuple[Message, ...]] = (
    StartConsumingCommand(
        epoch=812,
        sequence=9,
        incarnation=790,
        topics=SortedMapping({"payments": PAYMENTS.for_topic("payments"), "refunds": REFUNDS}),
        partitions=SortedMapping([(TopicPartition("payments", 0), 17), (TopicPartition("refunds", 3), RECOVER)]),
    ),
    ServiceUpdate("add", "payments", PAYMENTS),
    ConsumerReady(
        consumer=ConsumerId(1),
        clean=False,
        partitions=(),
        definitions=SortedMapping(),
        versions=SortedMapping({"ConsumerReady": 2, "StartConsumingCommand": 3}),
        claims=(CLICKS_2, ORDERS_0),
    ),
)
"""Messages with definitions, or claims, that a reader of version 1 would not understand."""

IN_VERSION_3: Final[tuple[Message, ...]] = (
    StartConsumingCommand(
        epoch=812,
        sequence=10,
        incarnation=790,
        topics=SortedMapping({"refunds": REFUNDS, "returns": RETURNS}),
        partitions=SortedMapping([(TopicPartition("refunds", 4), 12), (TopicPartition("returns", 0), RECOVER)]),
    ),
    ServiceUpdate("change", "returns", RETURNS),
)
"""The same for a reader of version 2."""

MEASUREMENT: Final = Measurement(
    time="2026-03-01T12:00:00.250Z",
    window_s=30.0,
    partitions=SortedMapping(
        {
            ORDERS_0: PartitionSpeed(1250.0, 1248.5, 10.2, 81240, 9918240, False),
            ORDERS_1: PartitionSpeed(62.5, 62.5, 0.5, 80117, None, True, 80100),
        }
    ),
)
