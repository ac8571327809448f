"""The checkers of what is stored: no record is lost, and a table that knows its offsets takes each once."""

from typing import TYPE_CHECKING

from restow.model import TopicPartition
from restow.protocol.topic_service import TopicService
from restow.simulator.checkers.report import Report

if TYPE_CHECKING:
    from restow.simulator.consumer import ConsumerProcess


class TakenOnce:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._next: dict[tuple[str, TopicPartition], int] = {}

    def stored(
        self, process: "ConsumerProcess", partition: TopicPartition, service: TopicService, first: int, following: int
    ) -> None:
        if service.refuses_late_writes:
            key = (service.table or "", partition)
            expected = self._next.get(key, first)
            if first != expected:
                what = "twice" if first < expected else "after a gap"
                self._report(
                    2, f"consumer {process.number} stored {partition} from {first} in {key[0]} {what} ({expected})"
                )
            self._next[key] = following


class NothingLost:
    """In every sink, also when a topic's table changes, a write begins where the last one ended, or before."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._reached: dict[TopicPartition, int] = {}

    def begun(self, partition: TopicPartition, service: TopicService, position: int) -> None:
        """A consumer reads the partition for the first time."""
        self._reached.setdefault(partition, position if service.start == "latest" else 0)

    def stored(
        self, process: "ConsumerProcess", partition: TopicPartition, service: TopicService, first: int, following: int
    ) -> None:
        reached = self._reached[partition]
        if first > reached:
            line = 2 if service.refuses_late_writes else 3
            self._report(
                line, f"consumer {process.number} stored {partition} from {first}: {reached} to {first} is lost"
            )
        if following > reached:
            self._reached[partition] = following
