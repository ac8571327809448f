"""Sinks: where a cycle's rows go. To store rows in another system, implement `Sink` here or beside delta/sink.py.

A sink stores a batch, returns the positions that it knows, and refuses a late batch if it can. A Delta table
(delta/sink.py) does all three. `NullSink` only consumes: records are read, transformed and counted, and their position
is the group's committed offset. For a sink that can't refuse late batches, set `refuses_late_writes = false`: then the
controller moves no partition before its previous consumer is known to be gone.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, Protocol, TypeVar

from restow.model import TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Span(NamedTuple):
    """The offsets of one partition that a batch covers: from `first` up to, and without, `next`."""

    first: int
    next: int


class TableRules(NamedTuple):
    """What a topic's definition says about its table."""

    partition_columns: tuple[str, ...] = ()
    may_add_columns: bool = True


NO_RULES: Final = TableRules()


@dataclass(frozen=True, slots=True)
class Batch:
    """One cycle's rows for one sink."""

    rows: "DataFrame"
    """Lazy: writing them runs the read and the transform."""
    spans: Mapping[TopicPartition, Span]
    records: int
    """How many offsets are read; 0 if retention deleted all of them. Then only the spans are stored."""
    staging: str = ""
    """What `Sink.staging` returned for this batch."""
    rules: TableRules = NO_RULES
    reject: Callable[[], Collection[TopicPartition]] | None = None
    """Stores the batch's bad records in the dead-letter table. The sink calls it when the rows are written, and before
    it commits them. Returns partitions that another consumer took over: then nothing is committed."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of a batch."""

    replaced: tuple[TopicPartition, ...] = ()
    """The partitions whose position in the sink is not where the batch begins: another consumer stored them. If there
    are any, nothing was stored."""
    rows: int = 0
    commit_s: float = 0.0
    """How long the commit took, retries included."""


class Sink(Protocol):
    """Schemas are what `DataFrame.schema.json()` returns. Every method may raise RestowError; the caller retries."""

    @property
    def name(self) -> str:
        """For log lines and error messages, such as "the table lake/orders"."""

    def positions(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The next offset of each of these partitions that the sink knows."""

    def register(self, offsets: Mapping[TopicPartition, int], schema: str, rules: TableRules = NO_RULES) -> None:
        """Records the start offset of new partitions. A partition that the sink knows already keeps its position: call
        `positions` afterwards. Creates the table if there is none."""

    def staging(self) -> str:
        """A new place for the files of one batch; empty if the sink needs none. Called once for every batch."""

    def store(self, batch: Batch) -> Stored:
        """All or nothing."""

    def claim(self, offsets: Mapping[TopicPartition, int]) -> tuple[dict[TopicPartition, int], list[TopicPartition]]:
        """Claims partitions at these positions, so that records of theirs may be rejected. Returns the claims, and the
        partitions that another consumer stored or claimed: if there are any, none was claimed."""

    def take_over(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Replaces open claims on these partitions, which are of a process that crashed or was replaced. Returns the
        new ones."""

    def settle(self, staging: str, spans: Mapping[TopicPartition, Span]) -> bool:
        """Returns whether a batch with unknown outcome was stored. If not, the sink refuses it from now on and removes
        its files."""

    def maintain(self) -> None:
        """Starts maintenance if it is due. Returns soon; failures are left to the next call."""

    def close(self) -> None: ...


OpenSink = Callable[[str], Sink]
"""By the `table` of `[consume.NAME]`."""


class DeadLetters(Protocol):
    """The dead-letter table of a sink. Every method may raise RestowError."""

    @property
    def name(self) -> str: ...

    def fence(self, claims: Mapping[TopicPartition, int]) -> None:
        """Refuses what is rejected under older claims of these partitions from now on."""

    def rejected(self, positions: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, frozenset[int]]:
        """The offsets that are rejected at or beyond these positions."""

    def store(self, rows: "DataFrame", claims: Mapping[TopicPartition, int]) -> tuple[TopicPartition, ...]:
        """Returns the partitions that another consumer has claimed since: if there are any, nothing was stored."""

    def maintain(self) -> None: ...

    def close(self) -> None: ...


OpenDeadLetters = Callable[[str], DeadLetters]


class NullSink:
    """Runs the transform and discards its rows."""

    name = "no table"

    def positions(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:  # noqa: ARG002
        return {}

    def register(self, offsets: Mapping[TopicPartition, int], schema: str, rules: TableRules = NO_RULES) -> None:
        pass

    def staging(self) -> str:
        return ""

    def store(self, batch: Batch) -> Stored:
        if batch.records:
            batch.rows.write.format("noop").mode("overwrite").save()
        return Stored()

    def claim(self, offsets: Mapping[TopicPartition, int]) -> tuple[dict[TopicPartition, int], list[TopicPartition]]:  # noqa: ARG002
        return {}, []

    def take_over(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:  # noqa: ARG002
        return {}

    def settle(self, staging: str, spans: Mapping[TopicPartition, Span]) -> bool:  # noqa: ARG002
        return False

    def maintain(self) -> None:
        pass

    def close(self) -> None:
        pass


class Closes(Protocol):
    def close(self) -> None: ...


T = TypeVar("T", bound=Closes)


class OpenTables(Generic[T]):
    """The tables in use, by their names."""

    def __init__(self, open_table: Callable[[str], T]) -> None:
        self._open_table = open_table
        self._open: dict[str, T] = {}

    def of(self, table: str) -> T:
        if table not in self._open:
            self._open[table] = self._open_table(table)
        return self._open[table]

    def keep(self, tables: Iterable[str]) -> None:
        """Closes all others."""
        for table in sorted(set(self._open).difference(tables)):
            self._open.pop(table).close()


class OpenSinks(OpenTables[Sink]):
    """The sinks in use; the NullSink where there is no table."""

    def __init__(self, open_sink: OpenSink) -> None:
        super().__init__(open_sink)
        self._null = NullSink()

    def of(self, table: str) -> Sink:
        return super().of(table) if table else self._null
