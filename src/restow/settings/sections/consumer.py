"""`[consumer]`: the resources of each consumer, its cycles and its capacity."""

from dataclasses import dataclass
from typing import Annotated, Final

from restow.protocol.consumer_settings import ConsumerSettings
from restow.settings.checks import ABOVE_0, AT_LEAST_1, Check

START_CAPACITY_BYTES_PER_S: Final = 2_000_000.0
"""What a consumer is assumed to carry before anything is learned of it. A consumer with five tables and many partitions
carried 1.4 MB/s on one core, one with one table 17 MB/s."""


@dataclass(frozen=True, slots=True)
class Consumer:
    """`[consumer]`: the resources of each consumer, and its cycles."""

    capacity_bytes_per_s: Annotated[float, ABOVE_0] | None = None
    """The throughput that each consumer sustains, in bytes per second of Kafka's log. Without it, it is learned for
    each consumer from its cycles, beginning with 2,000,000: slow to rise, quick to fall, and never below a quarter of
    that. A given value is fixed; give one where consumers must not be filled as far as they could be. `restow bench
    consumer` measures it with JSON records and prints this line; your own transforms may be slower."""

    pipeline: Annotated[str, Check("light or spark", lambda kind: kind in ("light", "spark"))] = "spark"
    """`spark` runs transforms on Spark and writes Delta tables. `light` stores records in SQLite without Spark, to try
    out a group."""

    memory_mb: Annotated[int, AT_LEAST_1] = 1536
    """Memory of each consumer in MiB. Spark's heap is 640 MiB less. A consumer of 144 partitions took 1,262 MB at full
    load; with 1024 its heap was full, and it spent its time collecting garbage."""

    cores: Annotated[float, ABOVE_0] = 1.0
    """CPU cores of each consumer; fractions are allowed."""

    image: str | None = None
    """The container image of consumers, where the platform runs containers."""

    report_every_s: Annotated[float, ABOVE_0] = 5.0
    """Seconds between two reports of lag and throughput to the controller; they are its heartbeat too."""

    grace_s: Annotated[float, ABOVE_0] = 30.0
    """Seconds that a consumer has to finish its cycle when it is stopped. Then it is killed."""

    resume_after_s: Annotated[float, ABOVE_0] = 10.0
    """After a crash a consumer claims what it held, and reads what the controller grants. If nothing is heard of a
    controller for so many seconds, it resumes what lies in tables that refuse late writes, so that a group without a
    controller heals; the rest waits. Longer than a controller takes to answer, and about as long as a standby takes to
    take over."""

    cycle_s: Annotated[float, ABOVE_0] = 1.0
    """Seconds between the beginnings of two cycles while the consumer keeps up: how fresh tables are, against how many
    files they get. An idle consumer waits this long before it looks for records again."""

    longest_cycle_s: Annotated[float, ABOVE_0] = 10.0
    """Upper limit of a cycle in seconds while there is a backlog. The consumer learns the fixed cost of a cycle, and
    makes cycles so long that this is a tenth of their time. A command or the shutdown cuts a longer cycle short, and
    its work is lost."""

    cycle_bytes: Annotated[int, AT_LEAST_1] = 256_000_000
    """Upper limit of a cycle in bytes, approximately; `longest_cycle_s` may limit it further. At 50 MB/s this is 5 s,
    of which 0.4 s are fixed. Records are streamed: a larger cycle needs no more memory."""

    light_bytes_per_s: Annotated[float, ABOVE_0] | None = None
    """Throttles the light consumer to this many bytes per second, so that a trial on one fast machine needs several
    consumers. Without it, it is not throttled."""

    @property
    def settings(self) -> ConsumerSettings:
        return ConsumerSettings(self.image, self.memory_mb, self.cores, self.capacity_bytes_per_s)
