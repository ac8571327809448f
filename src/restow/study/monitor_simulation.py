"""Runs a scenario of the monitor study in simulated time: the real meter, and a model of a producer and a broker's log.

The model has what makes measuring hard: records linger and are appended in batches with an overhead, samples are never
exactly a second apart, and retention deletes whole segments. `restow study monitor --simulated` calls it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from restow.model import TopicPartition
from restow.monitor.meter import Meter, MeterSettings
from restow.monitor.pace import sample_after_s
from restow.monitor.sample import PartitionSample, Sample
from restow.study.monitor import Observation, SpeedSeries
from restow.study.monitor_scenarios import Floats, ProducerScenario

LINGER_S: Final = 0.005
BATCH_OVERHEAD_BYTES: Final = 61
RECORD_OVERHEAD_BYTES: Final = 9
SEGMENT_BYTES: Final = 1 << 20
RETAINED_BYTES: Final = 8 << 20
RETENTION_CHECK_S: Final = 5.0
LATENESS_S: Final = 0.03
"""A sample is late by up to this much."""
SAMPLE_TAKES_S: Final = 0.01

PARTITION: Final = TopicPartition("study", 0)


@dataclass(frozen=True, slots=True)
class LogModel:
    """All appends of a run, from which the state of the log at any time follows."""

    appended_s: Floats
    offsets: Floats
    """The end offset after each append."""
    bytes: Floats
    """All bytes written up to each append."""

    @classmethod
    def of(cls, writes_s: Floats, record_bytes: int) -> "LogModel":
        _, first, records = np.unique(np.floor(writes_s / LINGER_S), return_index=True, return_counts=True)
        size = BATCH_OVERHEAD_BYTES + records * (record_bytes + RECORD_OVERHEAD_BYTES)
        return cls(writes_s[first] + LINGER_S, np.cumsum(records).astype(np.float64), np.cumsum(size).astype(float))

    def written(self, time_s: float) -> float:
        end = self._appends(time_s)
        return float(self.bytes[end - 1]) if end else 0.0

    def look(self, time_s: float) -> PartitionSample:
        end = self._appends(time_s)
        deleted = self._deleted(time_s - time_s % RETENTION_CHECK_S)
        gone = int(np.searchsorted(self.bytes, deleted, side="right"))
        return PartitionSample(
            end_offset=int(self.offsets[end - 1]) if end else 0,
            size_bytes=int(self.written(time_s) - (self.bytes[gone - 1] if gone else 0)),
            start_offset=int(self.offsets[gone - 1]) if gone else 0,
        )

    def _appends(self, time_s: float) -> int:
        return int(np.searchsorted(self.appended_s, time_s, side="right"))

    def _deleted(self, checked_s: float) -> float:
        """Bytes of the segments that retention had deleted by its last check."""
        too_much = self.written(checked_s) - RETAINED_BYTES
        return max(0.0, too_much // SEGMENT_BYTES * SEGMENT_BYTES)


def simulated(
    scenario: ProducerScenario,
    seed: int,
    settings: MeterSettings,
    sample_every_s: float,
    advance: Callable[[], None] = lambda: None,
) -> SpeedSeries:
    random = np.random.default_rng(seed)
    log, meter = LogModel.of(scenario.writes_s(random), scenario.record_bytes), Meter(settings)
    rows = []
    # The samples know nothing of the changes of speed: they fall anywhere between two of them.
    due_s = random.uniform(0.0, sample_every_s)
    while due_s < scenario.duration_s:
        time_s = float(due_s + random.uniform(0.0, LATENESS_S))
        look = log.look(time_s)
        measured = meter.take(Sample.of(time_s, {PARTITION: look}))
        if measured:
            raw, filtered = float(measured.bytes_per_s[0]), float(measured.filtered_bytes_per_s[0])
            rows.append(Observation(time_s, log.written(time_s), look.end_offset, raw, filtered))
        due_s += sample_after_s(sample_every_s, SAMPLE_TAKES_S, measured)
        advance()
    return SpeedSeries.of(scenario, rows)
