"""Fits batches into a table: adds the columns that it lacks, and widens the types of a batch. schemas.py has the rules.

sink.py keeps one of these for its table, which remembers the last schema that was found to fit: comparing costs nothing
until the table or the batch changes.
"""

from typing import TYPE_CHECKING, NamedTuple

from deltalake import Schema

from restow.pipeline.delta import schemas
from restow.pipeline.delta.errors import DeltaTableError
from restow.pipeline.delta.features import refuse_unsupported
from restow.pipeline.delta.ledger import Ledger
from restow.pipeline.sinks import TableRules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Compared(NamedTuple):
    """A batch's schema that was compared with the table's."""

    load: int
    """`Ledger.load`."""
    schema: str
    rules: TableRules


class Fitting:
    def __init__(self) -> None:
        self._last: Compared | None = None
        """The last that was found to fit as it is."""
        self._casts: tuple[Compared, dict[str, str]] | None = None

    def fit(self, ledger: Ledger, schema: str, rules: TableRules, *, is_written: bool = False) -> None:
        """Adds the columns that the table lacks, in a commit of their own. `is_written`: files have this schema. Raises
        DeltaTableError if the batch can't be stored."""
        if Compared(ledger.load, schema, rules) == self._last:
            return
        refuse_unsupported(ledger.table)
        found = compared(ledger, schema, rules)
        if is_written and found.casts:
            raise DeltaTableError("another consumer added columns with wider types in the meantime; write it again")
        if found.added:
            ledger.reload()  # delta-rs looks at all commits since its handle's version
            ledger.table.alter.add_columns(Schema.from_json(schemas.as_json(found.added)).fields)
            ledger.refresh()
        self._last = Compared(ledger.load, schema, rules)

    def widened(self, ledger: Ledger, rows: "DataFrame", rules: TableRules) -> "DataFrame":
        """The rows with the table's types where those are wider. The commit compares again."""
        batch = Compared(ledger.load, rows.schema.json(), rules)
        if batch == self._last:
            return rows
        if self._casts is None or self._casts[0] != batch:
            self._casts = (batch, compared(ledger, batch.schema, rules).casts)
        if not self._casts[1]:
            return rows
        casts = {
            _quoted(name): f"cast({_quoted(name)} as {kind}) as {_quoted(name)}"
            for name, kind in self._casts[1].items()
        }
        return rows.selectExpr(*(casts.get(name, name) for name in map(_quoted, rows.columns)))


def compared(ledger: Ledger, schema: str, rules: TableRules) -> schemas.Fit:
    partitioned = tuple(ledger.table.metadata().partition_columns)
    if partitioned != rules.partition_columns:
        raise DeltaTableError(
            f"it is partitioned by {', '.join(partitioned) or 'nothing'}, and partition_by asks for "
            f"{', '.join(rules.partition_columns) or 'nothing'}; correct partition_by, or name another table"
        )
    return schemas.fit(ledger.table.schema().to_json(), schema, rules)


def _quoted(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`"
