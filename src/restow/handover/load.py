"""A steady load: at fixed intervals one record to every partition, so that an offset has the same time in all of them.

A step of the load changes the size of the records and not their rate, so that the usual time between two records of a
partition stays the same.
"""

import threading
import time
from types import TracebackType
from typing import Final, Self

from restow.errors import RestowError
from restow.handover.contender import TOPIC, Case
from restow.kafka.clients import make_producer
from restow.settings import Kafka

OVERHEAD_BYTES: Final = 75
"""What Kafka's log adds to a record that is alone in its batch, about."""
BASE_BYTES: Final = 300
"""Of the log, for one record."""
DELIVERED_WITHIN_S: Final = 60.0


class SteadyLoad:
    """Produces in a thread of its own from the beginning to the end of the block."""

    def __init__(self, kafka: Kafka, case: Case) -> None:
        self._case = case
        self._producer = make_producer(kafka, {"linger.ms": 0, "enable.idempotence": True})
        self._refusals: list[str] = []
        self._should_end = threading.Event()
        self._thread = threading.Thread(target=self._produce, name="load", daemon=True)
        self._times_s: list[float] = []
        self._value = b""
        self.set(1.0)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._should_end.set()
        self._thread.join()

    def set(self, factor: float) -> None:
        """Sets the load in bytes/s, as a multiple of the base load."""
        self._value = bytes(max(1, round(BASE_BYTES * factor) - OVERHEAD_BYTES))

    @property
    def base_bytes_per_s(self) -> float:
        return BASE_BYTES * self._case.records_per_s * self._case.partitions

    def finish(self) -> tuple[float, ...]:
        """Ends the load. Returns when each offset was produced. Raises RestowError if Kafka refused a record."""
        self._should_end.set()
        self._thread.join()
        left = self._producer.flush(DELIVERED_WITHIN_S)
        if left or self._refusals:
            reason = self._refusals[0] if self._refusals else f"{left} were not acknowledged"
            raise RestowError(f"the load could not be produced: {reason}")
        return tuple(self._times_s)

    def _produce(self) -> None:
        every_s, due_s = 1.0 / self._case.records_per_s, time.monotonic()
        while not self._should_end.is_set():
            value = self._value
            self._times_s.append(time.time())
            for number in range(self._case.partitions):
                self._producer.produce(TOPIC, value, partition=number, on_delivery=self._delivered)
            self._producer.poll(0)
            due_s += every_s
            time.sleep(max(0.0, due_s - time.monotonic()))

    def _delivered(self, error: object, _: object) -> None:
        if error is not None:
            self._refusals.append(str(error))
