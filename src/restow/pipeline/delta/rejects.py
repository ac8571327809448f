"""The dead-letter table of a Delta table: the records that could not be stored, each with the error.

The table alone has the positions; the dead-letter table is committed first. A claim (claims.py) ties both together: a
commit to the dead-letter table is accepted only under the newest claim of its partitions. After a crash between the two
commits, the next owner of a partition replaces the claim in both tables, and leaves the records out that are here at or
beyond the table's position. Rows are only appended: that a record was retried is another row (`restow rejected retry`).
"""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from deltalake import QueryBuilder

from restow.model import TopicPartition
from restow.pipeline.delta.errors import STORE_ERRORS, DeltaTableError, one_line
from restow.pipeline.delta.ledger import Ledger
from restow.pipeline.delta.sink import DeltaSink, Move, WriteFiles
from restow.pipeline.delta.staging import Writer
from restow.settings import Table as TableSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

REJECTED: Final = "rejected"
RETRYING: Final = "retrying"
STORED: Final = "stored"
"""The values of `state`: a rejected record; a retry is about to store it; the retry has stored it."""

COLUMNS: Final = {
    "state": "string",
    "consumer_group": "string",
    "topic": "string",
    "partition": "integer",
    "offset": "long",
    "timestamp": "timestamp",
    "key": "binary",
    "value": "binary",
    "headers": {
        "type": "array",
        "containsNull": True,
        "elementType": {
            "type": "struct",
            "fields": [
                {"name": "key", "type": "string", "nullable": True, "metadata": {}},
                {"name": "value", "type": "binary", "nullable": True, "metadata": {}},
            ],
        },
    },
    "error": "string",
    "code": "string",
    "at": "timestamp",
    "retry": "long",
}
"""`code` is the digest of the transforms' modules, `at` the time of the row, `retry` the number of a retry."""
SCHEMA: Final = json.dumps(
    {
        "type": "struct",
        "fields": [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in COLUMNS.items()],
    }
)

Claims = Mapping[TopicPartition, int]
Offsets = Mapping[TopicPartition, frozenset[int]]


class RejectTable:
    def __init__(self, uri: str, writer: Writer, settings: TableSettings, write_files: WriteFiles) -> None:
        self._sink = DeltaSink(uri, writer, settings, write_files)
        self._writer, self._write_files = writer, write_files
        self.uri, self.name = self._sink.uri, f"the dead-letter table {self._sink.uri}"

    def close(self) -> None:
        self._sink.close()

    def maintain(self) -> None:
        self._sink.maintain()

    def fence(self, claims: Claims) -> None:
        """Has the table refuse what is rejected under older claims of these partitions. Creates it if there is none:
        an older claim could create it otherwise."""
        self._commit([], claims, "")

    def rejected(self, positions: Mapping[TopicPartition, int]) -> Offsets:
        """The offsets that are rejected at or beyond these positions."""
        found: dict[TopicPartition, set[int]] = {}
        for partition, position in positions.items():
            where = f'topic = \'{partition.topic}\' AND "partition" = {partition.partition} AND "offset" >= {position}'
            for row in self.rows('"offset"', f"state = '{REJECTED}' AND {where}"):
                found.setdefault(partition, set()).add(row["offset"])
        return {partition: frozenset(offsets) for partition, offsets in found.items()}

    def store(self, rows: "DataFrame", claims: Claims) -> tuple[TopicPartition, ...]:
        """Returns the partitions that another consumer has claimed since: if there are any, nothing was stored. If the
        answer is lost, the claims must be replaced before more is stored."""
        staging = self._sink.staging()
        self._sink.register({}, SCHEMA)
        return self._commit(self._write_files(rows, self.uri, staging), claims, staging)

    def append(self, rows: "DataFrame", moves: Sequence[Move]) -> tuple[TopicPartition, ...]:
        """Adds rows on a retry. Returns the partitions of moves that don't fit: then nothing was added."""
        staging = self._sink.staging()
        return self._sink.commit_moves(self._write_files(rows, self.uri, staging), SCHEMA, moves, staging)

    def rows(self, columns: str, where: str) -> list[dict[str, Any]]:
        """Rows of this group; none if there is no table. Raises DeltaTableError."""
        quoted = self._writer.group.replace("'", "''")
        query = f"SELECT {columns} FROM rejects WHERE consumer_group = '{quoted}' AND {where}"
        try:
            ledger = self.ledger()
            if ledger is None:
                return []
            found = QueryBuilder().register("rejects", ledger.table).execute(query).read_all()
            names = found.schema.names
            return [
                dict(zip(names, row, strict=True)) for row in zip(*(found[n].to_pylist() for n in names), strict=True)
            ]
        except STORE_ERRORS as error:
            raise DeltaTableError(f"{self.name} can't be read: {one_line(error)}") from None

    def ledger(self) -> Ledger | None:
        return self._sink.opened()

    def _commit(self, files: Sequence[Any], claims: Claims, staging: str) -> tuple[TopicPartition, ...]:
        self._sink.register({}, SCHEMA)
        moves = [
            Move(partition, self._writer.claim_id(partition), _up_to(claim), claim)
            for partition, claim in sorted(claims.items())
        ]
        return self._sink.commit_moves(files, SCHEMA, moves, staging)


def _up_to(claim: int) -> Any:
    return lambda last: last is None or last <= claim
