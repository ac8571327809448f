"""Retries of rejected records: `restow rejected retry` runs them through the present transform into their table.

Each record is stored exactly once, although two tables can't be changed by one commit, and even if a retry is killed or
two run at once:

1. The dead-letter table takes a row for each record that is about to be stored, with the number of the retry. Numbers
   are taken one after the other: of two that want the same, one is refused.
2. The table takes the rows and the number of the retry, under a transaction id of its own, if its number has not
   changed since it was read.
3. The dead-letter table takes a row for each record that was stored.

The next retry first reads the table's number: if it is that of a retry without the rows of step 3, it adds them. A
retry with a smaller number and without them was never stored, and never will be.
"""

import hashlib
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from operator import eq
from typing import Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import current_timestamp

from restow.errors import RestowError
from restow.model import TopicPartition
from restow.pipeline.delta.rejects import RETRYING, STORED, RejectTable
from restow.pipeline.delta.sink import DeltaSink, Move
from restow.pipeline.delta.staging import Writer, WrittenFile
from restow.pipeline.places import place_of
from restow.pipeline.rejected_records import Filter, RejectedRecord, pending
from restow.pipeline.sinks import Batch
from restow.pipeline.spark.engine import Engine
from restow.pipeline.spark.failures import summary
from restow.pipeline.spark.reading import SCHEMA as RECORDS
from restow.pipeline.spark.writing import write_files
from restow.pipeline.targets import Target
from restow.pipeline.transforms import TransformError
from restow.settings import Settings

AT_ONCE: Final = 500
"""Records of one retry: they are in memory."""
MEMBER: Final = "retry"
TRIES: Final = 5

ROW: Final = "state string, consumer_group string, topic string, partition int, offset bigint, retry bigint"

Key = tuple[str, int, int]


class Retried(NamedTuple):
    stored: int
    failed: dict[Key, str]
    """The records that still can't be stored, each with the error."""


class Overtaken(RestowError):
    """Another retry was faster. What is left to do is looked at again."""


class Retrier:
    """Retries the rejected records of one table."""

    def __init__(self, settings: Settings, engine: Engine, target: Target) -> None:
        """`target` has a table."""
        self._engine, self._target = engine, target
        self._group = settings.group.name
        writer = Writer(self._group, 0, time.time_ns() // 1_000_000, MEMBER)
        self._letters = RejectTable(
            place_of(self._target.on_bad.letters, settings).uri, writer, settings.table, write_files
        )
        place = place_of(self._target.table, settings)
        self._table = DeltaSink(place.uri, writer, settings.table, write_files, place.former)
        digest = hashlib.sha256(self._target.on_bad.letters.encode()).hexdigest()[:8]
        self._id = f"{self._group}/retry/{digest}"
        """Of the number of the last retry, in both tables."""

    def close(self) -> None:
        self._letters.close()
        self._table.close()

    def retry(self, wanted: Filter, should_end: Callable[[], bool]) -> Retried:
        """Raises RestowError if a table or Spark fails; what was stored before is kept."""
        stored, failed, tries = 0, dict[Key, str](), 0
        while not should_end():
            try:
                last = self._settle()
                todo = [each for each in pending(self._letters, wanted) if each.key not in failed][:AT_ONCE]
                if not todo:
                    break
                stored += self._run(todo, last, failed)
                tries = 0
            except Overtaken:
                tries += 1
                if tries >= TRIES:
                    raise
        return Retried(stored, failed)

    def _settle(self) -> int | None:
        """Adds the rows of a retry that was stored and has none. Returns the table's number."""
        ledger = self._table.opened()
        last = None if ledger is None else ledger[self._id]
        if last is not None and not self._letters.rows("topic", f"state = '{STORED}' AND retry = {last} LIMIT 1"):
            rows = self._letters.rows('topic, "partition", "offset"', f"state = '{RETRYING}' AND retry = {last}")
            self._note(STORED, [(row["topic"], row["partition"], row["offset"]) for row in rows], last)
        return last

    def _run(self, todo: Sequence[RejectedRecord], last: int | None, failed: dict[Key, str]) -> int:
        right = self._right(todo, failed)
        if not right:
            return 0
        ledger = self._letters.ledger()
        number = ((ledger[self._id] if ledger else None) or 0) + 1
        keys = [each.key for each in right]
        self._note(RETRYING, keys, number)
        files, schema, staging = self._engine.in_session(lambda session, make: self._written(session, make, right))
        move = Move(TopicPartition(*keys[0][:2]), self._id, partial(eq, last), number)
        if self._table.commit_moves(files, schema, [move], staging, self._target.rules):
            raise Overtaken("another retry of these records was faster; see `restow rejected list`")
        self._note(STORED, keys, number)
        return len(right)

    def _right(self, records: Sequence[RejectedRecord], failed: dict[Key, str]) -> list[RejectedRecord]:
        """The records that the transform takes now; the others are added to `failed`."""
        reason = self._engine.in_session(lambda session, make: self._failure(session, make, records))
        if reason is None:
            return list(records)
        if len(records) == 1:
            failed[records[0].key] = reason
            return []
        middle = len(records) // 2
        return self._right(records[:middle], failed) + self._right(records[middle:], failed)

    def _note(self, state: str, keys: Collection[Key], number: int) -> None:
        """Appends a row for each record. Of two retries with this number, one gets an error."""

        def rows(session: SparkSession) -> DataFrame:
            values = [(state, self._group, *key, number) for key in sorted(keys)]
            return session.createDataFrame(values, ROW).withColumn("at", current_timestamp())

        app_id = self._id if state == RETRYING else f"{self._id}/stored"
        fits = partial(eq, number - 1 or None) if state == RETRYING else partial(_is_below, number)
        move = Move(TopicPartition(self._target.table, 0), app_id, fits, number)
        if self._engine.in_session(lambda session, _: self._letters.append(rows(session), [move])):
            raise Overtaken("another retry of these records was faster; see `restow rejected list`")

    # In Spark's thread.

    def _failure(self, session: SparkSession, make: "MakeRows", records: Sequence[RejectedRecord]) -> str | None:
        try:
            make(_frame(session, records), self._target).write.format("noop").mode("overwrite").save()
        except TransformError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001  raised by Spark, or by the user's transform inside it
            return summary(error)
        return None

    def _written(
        self, session: SparkSession, make: "MakeRows", records: Sequence[RejectedRecord]
    ) -> tuple[list[WrittenFile], str, str]:
        rows, staging = make(_frame(session, records), self._target), self._table.staging()
        files, schema = self._table.write(Batch(rows, {}, len(records), staging, self._target.rules))
        return files, schema, staging


MakeRows = Callable[[DataFrame, Target], DataFrame]


def _frame(session: SparkSession, records: Sequence[RejectedRecord]) -> DataFrame:
    """As Kafka had them."""
    return session.createDataFrame(
        [(r.record_key, r.value, r.headers, r.topic, r.partition, r.offset, r.timestamp) for r in records], RECORDS
    )


def _is_below(number: int, last: int | None) -> bool:
    return last is None or last < number
