"""A monitor process: publishes the speed of each partition, with the noise of a real measurement."""

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import numpy as np

from restow.clock import utc_text
from restow.controller.events import SpeedsMeasured
from restow.model import SortedMapping, Speeds
from restow.simulator.data import RECORD_BYTES
from restow.simulator.processes import SimulatedProcess
from restow.simulator.topics import Topic
from restow.simulator.wire import Garbage, Measured, parts_of

if TYPE_CHECKING:
    from restow.simulator.world import World

BEGINNING: Final = datetime(2026, 3, 1, tzinfo=UTC)
NOISE: Final = 0.02
IMPOSSIBLE_BYTES_PER_S: Final = 1e15
NONSENSE: Final = ("impossible", "empty", "older", "partial", "garbage")


def time_text(now_s: float) -> str:
    return utc_text(BEGINNING + timedelta(milliseconds=round(now_s * 1000)))


class MonitorProcess(SimulatedProcess):
    def __init__(self, world: "World", rng: random.Random) -> None:
        super().__init__(world, rng)
        self.silent_until_s = 0.0
        self.nonsense_until_s = 0.0
        self._name, self._published = f"monitor@{self.now_s}", 0
        self._part_dice = world.scenario.random(f"{self._name}/parts")

    def begin(self) -> None:
        self.at(self.now_s, self._measure)

    def die(self) -> None:
        if self.is_alive:
            self.is_alive = False
            self.world.monitor_ended()

    def _measure(self) -> None:
        if self.world.kafka.is_up and self.now_s >= self.silent_until_s:
            self._publish()
        if self.passes():
            self.at(self.now_s + self.world.scenario.measure_every_s, self._measure)

    def _publish(self) -> None:
        measured = Measured(self._measurement())
        is_nonsense = self.now_s < self.nonsense_until_s
        for record in self._records(self._nonsense(measured) if is_nonsense else measured):
            self.world.kafka.append(Topic.MONITOR, 0, record)

    def _records(self, measured: object) -> Sequence[object]:
        """As bytes a measurement goes out in parts, and a monitor that dies now has not sent all of them."""
        if not isinstance(measured, Measured) or not self.world.scenario.encodes:
            return [measured]
        self._published += 1
        parts = parts_of(measured, f"{self._name}/{self._published}")
        if len(parts) == 1:
            return parts
        self.world.coverage.measurements.add("in parts")
        if not self.is_about_to_fail:
            return parts
        self.world.coverage.measurements.add("incomplete")
        return parts[: self._part_dice.randrange(1, len(parts))]

    def _measurement(self) -> SpeedsMeasured:
        data = self.world.data
        low, span = 1 - NOISE, 2 * NOISE
        random = self.rng.random
        noise = np.array([random() for _ in data.partitions])
        speeds = np.rint(data.speeds * (low + span * noise))
        return SpeedsMeasured(
            time_text(self.now_s),
            Speeds(dict(zip(data.partitions, speeds.tolist(), strict=True))),
            SortedMapping(dict(zip(data.partitions, (speeds / RECORD_BYTES).tolist(), strict=True))),
            SortedMapping(data.ends_of_topics(self.now_s)),
        )

    def _nonsense(self, true: Measured) -> object:
        event = true.event
        kind = self.rng.choice(NONSENSE)
        self.world.coverage.nonsense.add(kind)
        match kind:
            case "impossible":
                partition = self.rng.choice(sorted(event.speeds))
                speeds = Speeds({**event.speeds, partition: IMPOSSIBLE_BYTES_PER_S})
                return Measured(SpeedsMeasured(event.time, speeds, event.records_per_s), is_nonsense=True)
            case "empty":
                return Measured(SpeedsMeasured(event.time, Speeds()), is_nonsense=True)
            case "older":
                high = Speeds({partition: 3 * speed for partition, speed in event.speeds.items()})
                return Measured(SpeedsMeasured(time_text(max(0.0, self.now_s - 3600)), high), is_nonsense=True)
            case "partial":
                kept = [partition for partition in event.speeds if self.rng.random() < 0.5]
                return Measured(SpeedsMeasured(event.time, Speeds({p: event.speeds[p] for p in kept})))
            case _:
                return Garbage(b'{"version": 1, "time": "yesterday", "topics": {"orders": {"0": {"bytes_per_s": -1}}}}')
