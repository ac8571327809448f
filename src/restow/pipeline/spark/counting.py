"""Counts what a cycle reads, topic by topic, as it passes: Spark sums it up on the way, and nothing is read twice."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql.functions import expr

NOTHING: Final = 0
TRIES: Final = 10


class Counted(NamedTuple):
    """What was read of a topic."""

    records: int
    bytes: int


class Counts:
    """Of one action on one frame."""

    def __init__(self, topics: Iterable[str]) -> None:
        self._topics = sorted(topics)
        self._observation = Observation()

    def on(self, records: DataFrame) -> DataFrame:
        return records.observe(self._observation, *(sum_ for topic in self._topics for sum_ in self._sums(topic)))

    def counted(self) -> dict[str, Counted]:
        """After the action. A topic of which Spark counted nothing is not there: a plan may have left out the count."""
        row = self._row()
        found: dict[str, Counted] = {}
        for topic in self._topics:
            number = self._topics.index(topic)
            records, size = (row.get(f"{what}{number}") for what in ("records", "bytes"))
            if records.isDefined():
                found[topic] = Counted(int(records.get() or NOTHING), int(size.get() or NOTHING))
        return found

    def _row(self) -> Any:
        """Spark tells it a moment after the action. Each try waits for a tenth of a second."""
        observed: Any = self._observation._jo
        for _ in range(TRIES):
            row = observed.getOrEmpty()
            if row.nonEmpty():
                break
        return row

    def _sums(self, topic: str) -> tuple[Column, Column]:
        number = self._topics.index(topic)
        mine = "true" if len(self._topics) == 1 else f"topic = '{topic}'"  # Kafka's names have no quotes
        size = "ifnull(length(key), 0) + ifnull(length(value), 0)"
        return expr(f"count_if({mine}) AS records{number}"), expr(f"sum(if({mine}, {size}, 0)) AS bytes{number}")
