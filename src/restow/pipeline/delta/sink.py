"""A Delta table as a sink: one commit takes a batch's files together with the next offset of every partition.

The next offset of a partition is the version of an application transaction in the table's own log. The sink compares
the batch's first offsets with the log, then commits. If another consumer stored one of the partitions in between,
delta-rs finds the same transaction id in that commit and refuses this one, and the sink compares again.
docs/exactly-once.md has the whole argument.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

from deltalake import CommitProperties, DeltaTable, Schema
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction

from restow.backoff import Backoff
from restow.model import TopicPartition
from restow.pipeline.delta import claims, schemas
from restow.pipeline.delta.errors import STORE_ERRORS, DeltaTableError, one_line
from restow.pipeline.delta.features import refuse_unsupported
from restow.pipeline.delta.fitting import Fitting, compared
from restow.pipeline.delta.ledger import Ledger
from restow.pipeline.delta.maintenance import Maintenance
from restow.pipeline.delta.staging import StagedCycle, Writer, WrittenFile, staged_cycle, writing_groups
from restow.pipeline.delta.stores import is_remote, options_of, refuse_unsafe
from restow.pipeline.places import TableElsewhere
from restow.pipeline.sinks import NO_RULES, Batch, Span, Stored, TableRules
from restow.settings import Table as TableSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COMMIT_WITHIN_S: Final = 10.0
"""Four processes that commit to one table without a pause each succeeded within 0.2 s."""
RETRY: Final = Backoff(first_s=0.01, longest_s=COMMIT_WITHIN_S, factor=1.5)

T = TypeVar("T")


class WriteFiles(Protocol):
    """Writes rows below a table's root, into a staging directory."""

    def __call__(
        self, rows: "DataFrame", root: str, staging: str, partition_by: Sequence[str] = (), /
    ) -> list[WrittenFile]: ...


class Move(NamedTuple):
    """A partition's transaction id that a commit changes."""

    partition: TopicPartition
    app_id: str
    fits: Callable[[int | None], bool]
    """Whether the table may have this version when the commit is taken."""
    to: int | None
    """None if it is only compared."""


class Commit(NamedTuple):
    stamp: int
    files: Sequence[WrittenFile]
    schema: str
    """Empty if there are no rows, and nothing is to be compared."""
    moves: Sequence[Move]
    """If one of them doesn't fit, its partition was replaced, and nothing is committed."""
    rules: TableRules = NO_RULES


class DeltaSink:
    """Implements Sink."""

    def __init__(
        self,
        uri: str,
        writer: Writer,
        settings: TableSettings,
        write_files: WriteFiles,
        former: Path | None = None,
    ) -> None:
        """`former` is where older versions had the table, if that is another place."""
        self.uri = uri if is_remote(uri) else str(Path(uri).absolute())
        self._former = former
        self.name = f"the table {self.uri}"
        self._writer, self._settings, self._write_files = writer, settings, write_files
        self._ledger: Ledger | None = None
        self._last_stamp = 0
        self._claims: dict[TopicPartition, int] = {}
        """The claims that this process made."""
        self._fitting = Fitting()
        self._maintenance = Maintenance(self.uri, settings)

    def close(self) -> None:
        self._maintenance.close()

    def positions(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        def attempt() -> dict[TopicPartition, int | None]:
            ledger = self._current()
            return {partition: self._position(ledger, partition) for partition in sorted(partitions)}

        return {partition: at for partition, at in self._retry(attempt).items() if at is not None}

    def register(self, offsets: Mapping[TopicPartition, int], schema: str, rules: TableRules = NO_RULES) -> None:
        def attempt() -> None:
            ledger = self._current()
            if ledger is None:
                self._look_elsewhere(offsets)
                ledger = self._create(schema, rules)
            self._fitting.fit(ledger, schema, rules)
            unknown = [p for p in sorted(offsets) if self._position(ledger, p) is None]
            if unknown:
                ledger.commit({self._writer.position_id(p): offsets[p] for p in unknown})

        self._retry(attempt)

    def preview(
        self, partitions: Iterable[TopicPartition], schema: str | None, rules: TableRules = NO_RULES
    ) -> tuple[str, ...] | None:
        """What `register` would do, without doing it: returns the columns that it would add, or None if it would create
        the table. Raises what it would raise. Without a schema columns are not compared."""

        def attempt() -> tuple[str, ...] | None:
            ledger = self._open()
            if ledger is None:
                self._look_elsewhere(partitions)
                if schema:
                    schemas.table_columns(schema, rules)
                return None
            added = compared(ledger, schema, rules).added if schema else []
            return tuple(field["name"] for field in added)

        return self._retry(attempt)

    def staging(self) -> str:
        self._last_stamp = max(self._last_stamp + 1, time.time_ns() // 1_000_000)
        return self._writer.directory(self._last_stamp)

    def store(self, batch: Batch) -> Stored:
        files, schema = self.write(batch)
        if batch.reject is not None and (lost := batch.reject()):
            return Stored(tuple(lost))
        begun_s = time.monotonic()
        replaced = self.commit(files, schema, batch.spans, batch.staging, batch.rules)
        return Stored(replaced, 0 if replaced else sum(file.rows for file in files), time.monotonic() - begun_s)

    def write(self, batch: Batch) -> tuple[list[WrittenFile], str]:
        """Writes the rows, without a commit. Returns the files, and the schema of the rows, empty without records."""
        schema, files = "", list[WrittenFile]()
        if batch.records:
            rows, ledger = batch.rows, self._ledger
            if ledger is not None:
                rows = self._named(lambda: self._fitting.widened(ledger, batch.rows, batch.rules))
            files = self._write_files(rows, self.uri, batch.staging, batch.rules.partition_columns)
            schema = rows.schema.json()
        return files, schema

    def commit(
        self,
        files: Sequence[WrittenFile],
        schema: str,
        spans: Mapping[TopicPartition, Span],
        staging: str = "",
        rules: TableRules = NO_RULES,
    ) -> tuple[TopicPartition, ...]:
        """Returns the partitions that another consumer stored: if there are any, nothing was committed. A commit
        without files moves the offsets; `staging` identifies its cycle."""
        replaced = self.commit_moves(files, schema, self._moves(spans), staging, rules)
        if not replaced:
            self._claims = {p: claim for p, claim in self._claims.items() if p not in spans}
        return replaced

    def commit_moves(
        self,
        files: Sequence[WrittenFile],
        schema: str,
        moves: Sequence[Move],
        staging: str,
        rules: TableRules = NO_RULES,
    ) -> tuple[TopicPartition, ...]:
        """Returns the partitions of the moves that don't fit: if there are any, nothing was committed."""
        commit = Commit(self._stamp_of(files, staging), files, schema, moves, rules)
        if not self._retry(lambda: self._try_commit(commit, self._refreshed())):
            return ()
        # A handle may not notice that its table was dropped or recreated. Refusals are rare: reopen before one.
        return self._retry(lambda: self._try_commit(commit, self._open()))

    def claim(self, offsets: Mapping[TopicPartition, int]) -> tuple[dict[TopicPartition, int], list[TopicPartition]]:
        """Claims partitions whose positions are these, so that records of theirs may be rejected (claims.py). Returns
        the claims, and the partitions that another consumer stored or claimed: if there are any, none was claimed."""
        made: list[int] = []

        def attempt() -> tuple[dict[TopicPartition, int], list[TopicPartition]]:
            ledger = self._refreshed()
            found = {p: self._claim(ledger, p) for p in sorted(offsets)}
            ours = {p: c for p, c in found.items() if claims.is_open(c) and c in (*made, self._claims.get(p))}
            lost = {p for p, c in found.items() if claims.is_open(c) and p not in ours}
            lost |= {p for p, at in offsets.items() if self._position(ledger, p) != at}
            if ledger is None or lost:
                return {}, sorted(lost or offsets)
            free = {p: at for p, at in offsets.items() if p not in ours}
            new = self._commit_claims(ledger, free, made) if free else 0
            return {p: ours.get(p) or new for p in found}, []

        claimed, lost = self._retry(attempt)
        self._claims |= claimed
        return claimed, lost

    def take_over(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Replaces open claims on these partitions by claims of this process, so that nothing more is stored under
        the old ones. Returns the new ones; most partitions have none."""
        made: list[int] = []

        def attempt() -> dict[TopicPartition, int]:
            ledger = self._current()
            found = {p: c for p in sorted(partitions) if claims.is_open(c := self._claim(ledger, p))}
            others = {p: self._position(ledger, p) or 0 for p, claim in found.items() if claim not in made}
            new = self._commit_claims(ledger, others, made) if ledger is not None and others else 0
            return {p: new if p in others else claim or 0 for p, claim in found.items()}

        taken = self._retry(attempt)
        self._claims |= taken
        return taken

    def _commit_claims(self, ledger: Ledger, offsets: Mapping[TopicPartition, int], made: list[int]) -> int:
        """Returns the claim, which is in `made` before it is committed: an answer may be lost. The positions stay as
        they are. They are in the commit so that it conflicts with every other commit that has them."""
        known = (ledger[self._writer.claims_id], *(self._claim(ledger, p) for p in offsets), *made)
        made.append(new := claims.new(self._writer.consumer, known))
        versions = {self._writer.position_id(p): at for p, at in offsets.items()}
        versions |= {self._writer.claim_id(p): new for p in offsets}
        ledger.commit({**versions, self._writer.claims_id: new})
        return new

    def _claim(self, ledger: Ledger | None, partition: TopicPartition) -> int | None:
        if ledger is None or ledger[self._writer.claims_id] is None:
            return None
        return ledger[self._writer.claim_id(partition)]

    def _moves(self, spans: Mapping[TopicPartition, Span]) -> list[Move]:
        found = []
        for partition, span in sorted(spans.items()):
            found.append(Move(partition, self._writer.position_id(partition), partial(eq, span.first), span.next))
            claim_id, ours = self._writer.claim_id(partition), self._claims.get(partition)
            if ours is None:
                found.append(Move(partition, claim_id, claims.is_closed, None))
            else:
                found.append(Move(partition, claim_id, partial(eq, ours), claims.closed(ours)))
        return found

    def _try_commit(self, commit: Commit, ledger: Ledger | None) -> tuple[TopicPartition, ...]:
        """Returns the partitions that another consumer stored, or ()."""
        if ledger is None:
            return tuple(dict.fromkeys(move.partition for move in commit.moves))
        moving = [move for move in commit.moves if move.to is not None]
        last = ledger[self._writer.cycle_id]
        if last == commit.stamp and all(ledger[move.app_id] == move.to for move in moving):
            return ()  # an earlier attempt was taken, and its answer was lost
        # Without any claim there is no look at each partition's, which takes a millisecond.
        compared = commit.moves if ledger[self._writer.claims_id] is not None else moving
        if replaced := [move.partition for move in compared if not move.fits(ledger[move.app_id])]:
            return tuple(dict.fromkeys(replaced))
        if last is not None and last >= commit.stamp:
            self._last_stamp = max(self._last_stamp, last)
            raise DeltaTableError(
                "a later cycle of this consumer was taken, or vacuum removed files of this one; write it again"
            )
        version = ledger.version
        if commit.schema:
            self._fitting.fit(ledger, commit.schema, commit.rules, is_written=bool(commit.files))
        if ledger.version != version:
            return self._try_commit(commit, ledger)  # commits that came before the added columns have to be compared
        versions = {move.app_id: move.to for move in moving if move.to is not None}
        versions[self._writer.cycle_id] = commit.stamp
        ledger.commit(versions, [_add_action(file) for file in commit.files])
        return ()

    def settle(self, staging: str, spans: Mapping[TopicPartition, Span]) -> bool:
        """Only for cycles of this consumer; they may be of an earlier process."""
        cycle = staged_cycle(f"{staging}/")
        if cycle is None or cycle.cycle_id != self._writer.cycle_id:
            return False
        return self._retry(lambda: self._try_settle(cycle, spans))

    def _try_settle(self, cycle: StagedCycle, spans: Mapping[TopicPartition, Span]) -> bool:
        ledger = self._current()
        if ledger is None:
            return False
        last = ledger[cycle.cycle_id]
        if last is None or last < cycle.stamp:
            # Its commit may still be on the way to the store. After this commit it is refused; if it came first, this
            # one is refused and tried again.
            ledger.commit({cycle.cycle_id: cycle.stamp})
            ledger.files.delete_directory(cycle.path)
            return False
        # Either its own commit set this stamp, or a settling that crashed before it removed the files: vacuum does.
        at = {partition: self._position(ledger, partition) for partition in spans}
        return last == cycle.stamp and all((at[p] or 0) >= span.next for p, span in spans.items())

    def maintain(self) -> None:
        if self._ledger:
            with suppress(*STORE_ERRORS):
                self._maintenance.run_if_due(self._ledger)

    def checkpoint_if_due(self) -> None:
        """As `maintain` does, but returns when it is written."""
        if self._ledger:
            self._maintenance.checkpoints.write_if_due(self._ledger)
            self._maintenance.checkpoints.wait()

    def opened(self) -> Ledger | None:
        """A new handle of the table; None if there is none. Raises DeltaTableError."""
        return self._retry(self._open)

    def _current(self) -> Ledger | None:
        """Reopened, unless the handle notices by itself that its table was dropped or recreated. Returns None if there
        is no table."""
        return self._refreshed() if not is_remote(self.uri) else self._open()

    def _refreshed(self) -> Ledger | None:
        """Returns None if there is no table."""
        if self._ledger is None:
            return self._open()
        try:
            self._ledger.refresh()
        except TableNotFoundError:
            return self._open()
        return self._ledger

    def _open(self) -> Ledger | None:
        """Returns None if there is no table."""
        self._ledger = None
        refuse_unsafe(self.uri)
        try:
            ledger = Ledger(self.uri)
        except TableNotFoundError:
            return None
        refuse_unsupported(ledger.table)
        self._watch(ledger)
        return ledger

    def _watch(self, ledger: Ledger) -> None:
        self._ledger = ledger
        ledger.on_commit = self._maintenance.saw

    def _look_elsewhere(self, partitions: Iterable[TopicPartition]) -> None:
        """Raises TableElsewhere if the table is where older versions had it. A table there that only other groups write
        is theirs: they may have the same relative path in a restow.toml of their own."""
        if self._former is None or not DeltaTable.is_deltatable(str(self._former)):
            return
        ledger, groups = Ledger(str(self._former)), writing_groups(self._former)
        is_ours = any(self._position(ledger, partition) is not None for partition in partitions)
        if is_ours or not groups or self._writer.group in groups:
            raise TableElsewhere(self.uri, self._former)

    def _create(self, schema: str, rules: TableRules) -> Ledger:
        """One of several concurrent creators succeeds. Retrying a creation would not be refused: it would commit a new
        schema over the other's."""
        columns = Schema.from_json(schemas.as_json(schemas.table_columns(schema, rules)))
        configuration, once = _configuration(self._settings), CommitProperties(max_commit_retries=0)
        partition_by, options = list(rules.partition_columns) or None, options_of(self.uri)
        try:
            DeltaTable.create(
                self.uri,
                columns,
                partition_by=partition_by,
                configuration=configuration,
                commit_properties=once,
                storage_options=options,
            )
        except DeltaError:
            if self._open() is None:  # else another consumer created it at the same moment, or the answer was lost
                raise
        ledger = Ledger(self.uri)
        self._watch(ledger)
        return ledger

    def _position(self, ledger: Ledger | None, partition: TopicPartition) -> int | None:
        return ledger[self._writer.position_id(partition)] if ledger else None

    def _stamp_of(self, files: Sequence[WrittenFile], staging: str) -> int:
        paths = {file.path for file in files} or {f"{staging or self.staging()}/"}
        [cycle] = {staged_cycle(path) for path in paths}
        assert cycle is not None, f"{min(paths)} is not in a staging directory"
        assert cycle.path == self._writer.directory(cycle.stamp), f"{min(paths)} belongs to another consumer"
        return cycle.stamp

    def _named(self, attempt: Callable[[], T]) -> T:
        """Errors name the table."""
        try:
            return attempt()
        except DeltaTableError as error:
            raise error.of(self.name) from None

    def _retry(self, attempt: Callable[[], T]) -> T:
        """Retries refused commits until COMMIT_WITHIN_S, and any other error of the store once."""
        deadline_s, failures, other_errors = time.monotonic() + COMMIT_WITHIN_S, 0, 0
        while True:
            try:
                return self._named(attempt)
            except STORE_ERRORS as error:
                failures += 1
                if not isinstance(error, CommitFailedError):
                    self._ledger = None  # reopened by the next attempt: the table may have been dropped or repaired
                    other_errors += 1
                if other_errors > 1 or time.monotonic() > deadline_s:
                    raise DeltaTableError(f"{self.name} can't be used: {one_line(error)}") from None
            time.sleep(RETRY.pause_s(failures))


def _add_action(file: WrittenFile) -> AddAction:
    stats = file.stats or json.dumps({"numRecords": file.rows})
    added_ms = time.time_ns() // 1_000_000
    return AddAction(file.path, file.size_bytes, dict(file.partition), added_ms, data_change=True, stats=stats)


def _configuration(settings: TableSettings) -> dict[str, str | None]:
    return {
        "delta.checkpointInterval": str(settings.checkpoint_every_commits),
        "delta.logRetentionDuration": f"interval {round(settings.log_kept_s)} seconds",
        "delta.deletedFileRetentionDuration": f"interval {round(settings.removed_files_kept_s)} seconds",
    }
