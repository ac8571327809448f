"""Tries the transforms of restow.toml on records that are there: `restow check` does, before a group runs them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from restow.consumer.planning import Range
from restow.errors import RestowError
from restow.kafka.offsets import LogOffsets
from restow.model import TopicPartition
from restow.pipeline.spark.engine import Engine, Work
from restow.pipeline.spark.session import Resources
from restow.pipeline.spark.warm_up import Tally
from restow.pipeline.start_offsets import target_of
from restow.protocol.messages import TopicService
from restow.settings import Settings
from restow.text import counted

RECORDS_OF_A_PARTITION: Final = 20
PARTITIONS_OF_A_TOPIC: Final = 10


@dataclass(frozen=True, slots=True)
class Tried:
    """What a transform made of a sample."""

    records: int
    rows: int
    columns: tuple[str, ...]

    def __str__(self) -> str:
        columns = ", ".join(self.columns)
        if not self.records:
            return f"no records yet; its rows have {columns}"
        return f"{counted(self.records, 'record')} became {counted(self.rows, 'row')} of {columns}"


class Checker:
    def __init__(self, settings: Settings, say: Callable[[str], None]) -> None:
        self._log_offsets = LogOffsets(settings.kafka)
        self._engine = Engine(settings, Resources("restow-check", cores=1.0), say)

    def close(self) -> None:
        self._engine.close()

    def try_out(self, service: TopicService, partitions: Iterable[TopicPartition]) -> Tried:
        """On the newest records of some partitions; on none, where there are none. Raises RestowError."""
        tally = Tally()
        work = Work(target_of(service), self._newest(partitions), 0.0, tally)
        done = self._engine.run(work, lambda: False, patience_s=0.0)
        records = sum(counted.records for counted in done.counted.values()) if done else 0
        return Tried(records, tally.rows, tally.columns)

    def _newest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Range]:
        wanted = sorted(partitions)[:PARTITIONS_OF_A_TOPIC]
        firsts, trouble = self._log_offsets.first(wanted)
        ends, more_trouble = self._log_offsets.last_stable(wanted)
        if trouble or more_trouble:
            raise trouble or more_trouble or RestowError()
        begins = {p: max(firsts[p], ends[p] - RECORDS_OF_A_PARTITION) for p in wanted}
        return {p: Range(begins[p], begins[p], ends[p]) for p in wanted}
