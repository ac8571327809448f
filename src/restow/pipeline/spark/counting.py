"""Counts the records and bytes that a cycle reads, by topic, as an observed metric of the same Spark job."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql.functions import expr

TRIES: Final = 10
"""Each waits for a tenth of a second."""


class ReadCount(NamedTuple):
    records: int
    bytes: int


class ReadCounter:
    """For one job on one frame."""

    def __init__(self, topics: Iterable[str]) -> None:
        self._topics = sorted(topics)
        self._observation = Observation()

    def observe(self, records: DataFrame) -> DataFrame:
        return records.observe(self._observation, *(sum_ for topic in self._topics for sum_ in self._sums(topic)))

    def counts(self) -> dict[str, ReadCount]:
        """By topic, after the job. A topic is missing if Spark's optimizer removed the metric from the plan."""
        row = self._row()
        found: dict[str, ReadCount] = {}
        for number, topic in enumerate(self._topics):
            records, size = (row.get(f"{metric}{number}") for metric in ("records", "bytes"))
            if records.isDefined():
                found[topic] = ReadCount(int(records.get() or 0), int(size.get() or 0))
        return found

    def _row(self) -> Any:
        """Spark publishes the metrics a moment after the job."""
        observed: Any = self._observation._jo
        for _ in range(TRIES):
            row = observed.getOrEmpty()
            if row.nonEmpty():
                break
        return row

    def _sums(self, topic: str) -> tuple[Column, Column]:
        number = self._topics.index(topic)
        is_topic = "true" if len(self._topics) == 1 else f"topic = '{topic}'"  # Kafka's topic names have no quotes
        size = "ifnull(length(key), 0) + ifnull(length(value), 0)"
        return (
            expr(f"count_if({is_topic}) AS records{number}"),
            expr(f"sum(if({is_topic}, {size}, 0)) AS bytes{number}"),
        )
