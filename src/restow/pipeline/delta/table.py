"""A Delta table that knows how far every partition is stored in it. The Spark pipeline writes the files and calls this.

The next offset of a partition is the version of an application transaction in the table's own log, so that files and
offsets are taken by one commit, or neither is. A commit is made from a handle whose offsets were just compared with
the cycle's: when somebody stored one of its partitions in between, delta-rs finds the same id in his commit and refuses
this one; then everything is compared again. docs/exactly-once.md has the whole story.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from deltalake import CommitProperties, DeltaTable, Schema
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction

from restow.model import TopicPartition
from restow.pipeline.delta import schemas
from restow.pipeline.delta.errors import STORE_ERRORS, one_line
from restow.pipeline.delta.features import refuse_unknown
from restow.pipeline.delta.ledger import Ledger, commit_versions
from restow.pipeline.delta.maintenance import Tidier
from restow.pipeline.delta.staging import Staged, Writer, staged
from restow.pipeline.table import Span, TableTrouble, WrittenFile
from restow.settings import Table as TableSettings

COMMIT_WITHIN_S: Final = 10.0
"""Four processes that commit to one table without a pause were through within 0.2 s, whatever the others did."""
PAUSE_S: Final = 0.01

T = TypeVar("T")


class Cycle(NamedTuple):
    """What a cycle wants to be taken."""

    stamp: int
    files: Sequence[WrittenFile]
    schema: str
    spans: Mapping[TopicPartition, Span]


class DeltaLake:
    """A Table, as `table.py` says."""

    def __init__(self, uri: str, writer: Writer, settings: TableSettings, say: Callable[[str], None]) -> None:
        self.uri = uri if "://" in uri else str(Path(uri).absolute())
        self._writer, self._settings = writer, settings
        self._ledger: Ledger | None = None
        self._stamp = 0
        self._fits = ("", "")
        """The last schemas, of the table and of a batch, that were found to fit."""
        self._tidier = Tidier(self.uri, settings, say)

    def close(self) -> None:
        self._tidier.close()

    def positions(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        def attempt() -> dict[TopicPartition, int | None]:
            ledger = self._opened()
            return {partition: self._position(ledger, partition) for partition in sorted(partitions)}

        return {partition: at for partition, at in self._insist(attempt).items() if at is not None}

    def begin(self, offsets: Mapping[TopicPartition, int], schema: str) -> None:
        def attempt() -> None:
            ledger = self._opened() or self._make(schema)
            self._fit(ledger, schema)
            unknown = [p for p in sorted(offsets) if self._position(ledger, p) is None]
            if unknown:
                commit_versions(ledger.table, {self._writer.position_id(p): offsets[p] for p in unknown})

        self._insist(attempt)

    def staging(self) -> str:
        self._stamp = max(self._stamp + 1, time.time_ns() // 1_000_000)
        return self._writer.directory(self._stamp)

    def commit(
        self, files: Sequence[WrittenFile], schema: str, spans: Mapping[TopicPartition, Span], staging: str = ""
    ) -> tuple[TopicPartition, ...]:
        cycle = Cycle(self._stamp_of(files, staging), files, schema, spans)
        if not self._insist(lambda: self._try(cycle, self._refreshed())):
            return ()
        # A handle doesn't notice that its table was dropped or made again. Refusals are rare: look anew before one.
        return self._insist(lambda: self._try(cycle, self._opened()))

    def _try(self, cycle: Cycle, ledger: Ledger | None) -> tuple[TopicPartition, ...]:
        """The partitions that were replaced."""
        at = {partition: self._position(ledger, partition) for partition in sorted(cycle.spans)}
        if ledger is None:
            return tuple(at)
        last = ledger[self._writer.cycle_id]
        if last == cycle.stamp and all(at[p] == cycle.spans[p].next for p in at):
            return ()  # it was taken before, and the answer got lost
        if replaced := tuple(p for p in at if at[p] != cycle.spans[p].first):
            return replaced
        if last is not None and last >= cycle.stamp:
            self._stamp = max(self._stamp, last)
            raise TableTrouble("a later cycle of this consumer was taken, or files of this one swept; write it again")
        self._fit(ledger, cycle.schema)
        versions = {self._writer.position_id(p): cycle.spans[p].next for p in at} | {self._writer.cycle_id: cycle.stamp}
        commit_versions(ledger.table, versions, [_added(file) for file in cycle.files])
        return ()

    def settle(self, staging: str, spans: Mapping[TopicPartition, Span]) -> bool:
        cycle = staged(f"{staging}/")
        if cycle is None or cycle.cycle_id != self._writer.cycle_id:
            return False  # nobody but its consumer may judge it
        return self._insist(lambda: self._settled(cycle, spans))

    def _settled(self, cycle: Staged, spans: Mapping[TopicPartition, Span]) -> bool:
        ledger = self._opened()
        if ledger is None:
            return False
        last = ledger[cycle.cycle_id]
        if last is None or last < cycle.stamp:
            # It may still be on its way to the store. After this commit it is refused; if it was faster, this one is.
            commit_versions(ledger.table, {cycle.cycle_id: cycle.stamp})
            ledger.delete_directory(cycle.path)
            return False
        # Its own commit has this stamp, or what was to refuse it. Its files stay: a sweeper can tell whose they are.
        at = {partition: self._position(ledger, partition) for partition in spans}
        return last == cycle.stamp and all((at[p] or 0) >= span.next for p, span in spans.items())

    def tidy(self) -> None:
        if self._ledger:
            self._tidier.look(self._ledger)

    def _refreshed(self) -> Ledger | None:
        if self._ledger is None:
            return self._opened()
        self._ledger.refresh()
        return self._ledger

    def _opened(self) -> Ledger | None:
        """None: there is no table."""
        self._ledger = None
        try:
            ledger = Ledger(self.uri)
        except TableNotFoundError:
            return None
        refuse_unknown(ledger.table)
        self._ledger = ledger
        return ledger

    def _make(self, schema: str) -> Ledger:
        """One of those who try at the same moment makes it. A second try would not be refused: it would be a commit
        that puts its columns in the place of the others'."""
        columns = Schema.from_json(schemas.as_json(schemas.made_of(schema)))
        configuration, once = _configuration(self._settings), CommitProperties(max_commit_retries=0)
        try:
            DeltaTable.create(self.uri, columns, configuration=configuration, commit_properties=once)
        except DeltaError:
            if not DeltaTable.is_deltatable(self.uri):
                raise
            # Somebody else made it at the same moment.
        self._ledger = Ledger(self.uri)
        return self._ledger

    def _position(self, ledger: Ledger | None, partition: TopicPartition) -> int | None:
        return ledger[self._writer.position_id(partition)] if ledger else None

    def _stamp_of(self, files: Sequence[WrittenFile], staging: str) -> int:
        places = {file.path for file in files} or {f"{staging or self.staging()}/"}
        [cycle] = {staged(place) for place in places}
        assert cycle is not None, f"{min(places)} is in no cycle's directory"
        assert cycle.path == self._writer.directory(cycle.stamp), f"{min(places)} is another consumer's"
        return cycle.stamp

    def _fit(self, ledger: Ledger, schema: str) -> None:
        """Adds the columns that the table lacks, in a commit before that of the rows."""
        have = ledger.table.schema().to_json()
        if (have, schema) == self._fits:
            return
        refuse_unknown(ledger.table)
        if missing := schemas.lacking(have, schema):
            ledger.table.alter.add_columns(Schema.from_json(schemas.as_json(missing)).fields)
            ledger.refresh()
            have = ledger.table.schema().to_json()
        self._fits = (have, schema)

    def _insist(self, attempt: Callable[[], T]) -> T:
        """Tries again as long as others are in the way; what else goes wrong may be so for a moment, once."""
        deadline_s, pause_s, other_errors = time.monotonic() + COMMIT_WITHIN_S, PAUSE_S, 0
        while True:
            try:
                return attempt()
            except TableTrouble as error:
                raise TableTrouble(f"the table {self.uri}: {error}") from None
            except STORE_ERRORS as error:
                if not isinstance(error, CommitFailedError):
                    self._ledger = None  # to be opened anew: it may have been dropped, or repaired
                    other_errors += 1
                if other_errors > 1 or time.monotonic() > deadline_s:
                    raise TableTrouble(f"the table {self.uri} can't be used: {one_line(error)}") from None
            time.sleep(pause_s)
            pause_s *= 1.5


def _added(file: WrittenFile) -> AddAction:
    stats = file.stats or json.dumps({"numRecords": file.rows})
    return AddAction(file.path, file.size_bytes, {}, time.time_ns() // 1_000_000, data_change=True, stats=stats)


def _configuration(settings: TableSettings) -> dict[str, str | None]:
    return {
        "delta.checkpointInterval": str(settings.checkpoint_every_commits),
        "delta.logRetentionDuration": f"interval {round(settings.log_kept_s)} seconds",
        "delta.deletedFileRetentionDuration": f"interval {round(settings.removed_files_kept_s)} seconds",
    }
