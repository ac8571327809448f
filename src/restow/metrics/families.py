"""Every metric of restow: name, kind, labels and help. docs/metrics.md is made from these.

Names follow Prometheus' conventions: base units, `_total` for counters. Every series has the label `group`, and those
of a consumer's process also `consumer`, so that they mean the same however they were scraped.
"""

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["gauge", "counter", "histogram"]
Role = Literal["monitor", "controller", "consumer", "page"]
ROLES: Final[tuple[Role, ...]] = ("controller", "consumer", "monitor", "page")


@dataclass(frozen=True, slots=True)
class Family:
    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    """Beside `group`, and `consumer` in a consumer's process."""
    buckets: tuple[float, ...] = ()
    """Upper bounds of a histogram's buckets, without infinity."""


ROUND_BUCKETS: Final = (0.01, 0.05, 0.2, 1.0, 5.0)
"""A round of a small group takes milliseconds, a plan for 10,000 partitions tenths of a second; above 1 s the answers
of consumers wait noticeably."""
PAUSE_BUCKETS: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0)
"""A move costs about a cycle of each of its two consumers; above 10 s a consumer crashed or a table was slow."""
CYCLE_BUCKETS: Final = (0.05, 0.2, 0.5, 1.0, 2.0, 5.0, 15.0, 60.0)
"""Around `[consumer] cycle_s`, 1 s by default."""
COMMIT_BUCKETS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
"""A commit to a local disk takes about 8 ms, one to an object store some hundred."""
SAMPLE_BUCKETS: Final = (0.01, 0.05, 0.2, 1.0, 5.0)
"""A sample must take less than `[monitor] sample_every_s`, 1 s by default."""

# Every process.

BUILD_INFO: Final = Family("restow_build_info", "gauge", "Always 1; the labels say what runs.", ("role", "version"))
LOOP_AGE: Final = Family(
    "restow_loop_age_seconds",
    "gauge",
    "Seconds since the process's loop last turned. /healthz fails above [kubernetes] alive_within_s.",
    ("role",),
)
READY: Final = Family("restow_ready", "gauge", "1 while the process does its work, as /readyz.", ("role",))
EVERY_PROCESS: Final = (BUILD_INFO, LOOP_AGE, READY)

# The controller.

IN_CHARGE: Final = Family("restow_controller_in_charge", "gauge", "1 in the controller in charge, 0 in a standby.")
STAGE: Final = Family(
    "restow_controller_stage",
    "gauge",
    "1 for the stage that the controller is in, 0 for the others; docs/controller.md has the stages.",
    ("stage",),
)
ROUND: Final = Family(
    "restow_controller_round_seconds",
    "histogram",
    "Duration of a round of the controller: decide, send, change the platform. The wait for records is not part of it.",
    buckets=ROUND_BUCKETS,
)
DECISIONS: Final = Family(
    "restow_decisions_total",
    "counter",
    "Plans that changed the assignment, by what made the controller plan.",
    ("cause",),
)
MOVES: Final = Family("restow_moves_total", "counter", "Partitions that went from one consumer to another.")
PAUSE: Final = Family(
    "restow_pause_seconds",
    "histogram",
    "How long a partition was not read because it moved: from its stop to its next start.",
    buckets=PAUSE_BUCKETS,
)
FLAG: Final = Family(
    "restow_flag",
    "gauge",
    "1 while the flag is raised; docs/operations.md has the flags. `topic` is empty, except for flags of a topic.",
    ("flag", "topic"),
)
FLAGS: Final = Family("restow_flags", "gauge", "How many flags are raised.")
PAUSED: Final = Family("restow_paused", "gauge", "1 while a person has paused the group.")
RECOMMENDING: Final = Family("restow_recommend_only", "gauge", "1 while decisions are recommended and not carried out.")
SPEEDS_AGE: Final = Family(
    "restow_speeds_age_seconds",
    "gauge",
    "Seconds since the monitor's last measurement arrived. Missing before the first.",
)
PICTURE_AGE: Final = Family(
    "restow_picture_age_seconds",
    "gauge",
    "Seconds since Kafka took the last record of the group's picture. Missing before the first.",
)
CONSUMERS: Final = Family(
    "restow_consumers", "gauge", "Consumers by phase; docs/controller.md has the phases.", ("phase",)
)
WANTED: Final = Family("restow_consumers_wanted", "gauge", "Consumers that the group should have by the present plan.")
CAPACITY: Final = Family(
    "restow_consumer_capacity_bytes_per_second",
    "gauge",
    "What the consumer sustains, in bytes of mean cost: as the settings say, or as learned from its cycles.",
    ("consumer",),
)
LEARNED: Final = Family(
    "restow_capacity_learned", "gauge", "1 if the capacities of consumers are learned, 0 if the settings fix them."
)
COST: Final = Family(
    "restow_topic_cost_ratio",
    "gauge",
    "How much work a byte of the topic is, relative to the mean of all topics. Missing if it is neither learned nor "
    "fixed.",
    ("topic",),
)
STUCK: Final = Family(
    "restow_stuck_partitions",
    "gauge",
    "Partitions whose backlog does not shrink although their consumer has room.",
)
LOAD: Final = Family(
    "restow_consumer_load_bytes_per_second",
    "gauge",
    "The write speeds of the consumer's partitions, weighted by the costs of their topics, and their backlogs spread "
    "over [controller] catch_up_s.",
    ("consumer",),
)
THROUGHPUT: Final = Family(
    "restow_consumer_throughput_bytes_per_second",
    "gauge",
    "What the consumer stores, by its last report, in bytes of Kafka's log. Missing before the first report.",
    ("consumer",),
)
HELD: Final = Family("restow_consumer_partitions", "gauge", "Partitions that the consumer holds.", ("consumer",))
CONSUMER_LAG: Final = Family(
    "restow_consumer_lag_records", "gauge", "Records of its partitions that are not stored yet.", ("consumer",)
)
CONSUMER_LAG_S: Final = Family(
    "restow_consumer_lag_seconds",
    "gauge",
    "Age of the oldest of these records. Missing while it is not known.",
    ("consumer",),
)
RESTARTS: Final = Family(
    "restow_consumer_restarts_total",
    "counter",
    "Processes of the consumer that followed its first, as far as this controller has seen them.",
    ("consumer",),
)
SILENT: Final = Family(
    "restow_consumer_silent_seconds", "gauge", "Seconds between its last message and this picture.", ("consumer",)
)
TOPIC_SPEED: Final = Family(
    "restow_topic_speed_bytes_per_second", "gauge", "The write speed of all partitions of a topic.", ("topic",)
)
TOPIC_PARTITIONS: Final = Family("restow_topic_partitions", "gauge", "Partitions of the topic.", ("topic",))
UNREAD: Final = Family(
    "restow_topic_unread_partitions", "gauge", "Partitions of the topic that no consumer reads.", ("topic",)
)
REFUSED: Final = Family(
    "restow_topic_refused_partitions",
    "gauge",
    "Partitions of the topic that a consumer refused and that wait for the next attempt.",
    ("topic",),
)
TOPIC_LEFT_OUT: Final = Family(
    "restow_topic_bad_records",
    "gauge",
    "Bad records of the topic that consumers left out of its table since this controller began.",
    ("topic",),
)
MARGIN: Final = Family(
    "restow_topic_retention_margin_seconds",
    "gauge",
    "How long Kafka keeps the oldest unread record of the topic at least. Missing if nothing is unread, or it is kept.",
    ("topic",),
)
PARTITION_SPEED: Final = Family(
    "restow_partition_speed_bytes_per_second",
    "gauge",
    "The write speed of a partition; only with [metrics] per_partition_speeds.",
    ("topic", "partition"),
)
LAG: Final = Family(
    "kafka_consumergroup_group_lag",
    "gauge",
    "Records of the partition that are not in the table yet.",
    ("topic", "partition"),
)
LAG_SECONDS: Final = Family(
    "kafka_consumergroup_group_lag_seconds",
    "gauge",
    "Age of the oldest of these records; 0 if there is none. Missing while it is not known.",
    ("topic", "partition"),
)
CONTROLLER: Final = (
    *(IN_CHARGE, STAGE, ROUND, SPEEDS_AGE, PICTURE_AGE, DECISIONS, MOVES, PAUSE, FLAGS, FLAG, PAUSED, RECOMMENDING),
    *(LEARNED, COST, STUCK),
    *(CONSUMERS, WANTED, CAPACITY, LOAD, THROUGHPUT, HELD, CONSUMER_LAG, CONSUMER_LAG_S, RESTARTS, SILENT),
    *(TOPIC_SPEED, TOPIC_PARTITIONS, UNREAD, REFUSED, TOPIC_LEFT_OUT, MARGIN, PARTITION_SPEED, LAG, LAG_SECONDS),
)

# A consumer.

CYCLE: Final = Family(
    "restow_cycle_seconds",
    "histogram",
    "Duration of the steps of a cycle that stored something: write (on Spark it includes reading and the transform), "
    "commit to the tables, offsets of the group, rest; on the light pipeline read, write, commit, offsets.",
    ("step",),
    CYCLE_BUCKETS,
)
IDLE_CYCLES: Final = Family("restow_idle_cycles_total", "counter", "Cycles that found nothing to store.")
RECORDS: Final = Family("restow_records_stored_total", "counter", "Records of Kafka that were read and stored.")
ROWS: Final = Family("restow_rows_stored_total", "counter", "Rows that transforms made of them, in tables.")
BYTES: Final = Family("restow_bytes_stored_total", "counter", "Bytes of Kafka's log that were read and stored.")
COMMIT: Final = Family(
    "restow_commit_seconds", "histogram", "Duration of a commit to a table, retries included.", buckets=COMMIT_BUCKETS
)
REFUSED_COMMITS: Final = Family(
    "restow_refused_commits_total",
    "counter",
    "Partitions whose commit a table refused, because another consumer had taken them over.",
)
GAPS: Final = Family("restow_gaps_total", "counter", "Times that records were deleted before they were read.")
GAP_RECORDS: Final = Family("restow_gap_records_total", "counter", "Records that were deleted before they were read.")
REJECTED: Final = Family(
    "restow_bad_records_total",
    "counter",
    "Bad records that were left out of tables: rejected into a dead-letter table, or skipped.",
    ("outcome",),
)
FAILING: Final = Family("restow_failing_topics", "gauge", "Topics that the consumer holds and can't store now.")
OWN_PARTITIONS: Final = Family("restow_partitions_held", "gauge", "Partitions that the consumer reads.")
CONSUMER: Final = (
    *(CYCLE, IDLE_CYCLES, RECORDS, ROWS, BYTES, COMMIT, REFUSED_COMMITS, GAPS, GAP_RECORDS, FAILING, OWN_PARTITIONS),
    REJECTED,
)

# The monitor.

SAMPLE: Final = Family(
    "restow_monitor_sample_seconds",
    "histogram",
    "Duration of a sample of the cluster and its publication.",
    buckets=SAMPLE_BUCKETS,
)
SAMPLE_FAILURES: Final = Family(
    "restow_monitor_failures_total", "counter", "Samples that failed, because the brokers refused or did not answer."
)
PUBLISHED: Final = Family("restow_monitor_measurements_total", "counter", "Measurements that were published.")
MEASURED: Final = Family(
    "restow_monitor_partitions", "gauge", "Partitions in the last measurement. Missing before the first."
)
MEASURED_SPEED: Final = Family(
    "restow_monitor_speed_bytes_per_second", "gauge", "The write speed of all of them. Missing before the first."
)
MEASUREMENT_AGE: Final = Family(
    "restow_monitor_measurement_age_seconds",
    "gauge",
    "Seconds since the last measurement was published. Missing before the first.",
)
MONITOR: Final = (SAMPLE, SAMPLE_FAILURES, PUBLISHED, MEASURED, MEASURED_SPEED, MEASUREMENT_AGE)

# The page.

PAGE_STREAMS: Final = Family("restow_page_streams", "gauge", "Browsers that follow the page.")
PAGE_PICTURE_AGE: Final = Family(
    "restow_page_picture_age_seconds",
    "gauge",
    "The age of the picture that the page shows. Above 30 s it shows an outage. Missing before the first.",
)
PAGE: Final = (PAGE_STREAMS, PAGE_PICTURE_AGE)

FAMILIES: Final[dict[Role, tuple[Family, ...]]] = {
    "controller": (*EVERY_PROCESS, *CONTROLLER),
    "consumer": (*EVERY_PROCESS, *CONSUMER),
    "monitor": (*EVERY_PROCESS, *MONITOR),
    "page": (*EVERY_PROCESS, *PAGE),
}
