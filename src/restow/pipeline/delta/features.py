"""Which Delta tables restow can write, of those that others made. Called by `delta.py` when it opens one.

Spark writes plain Parquet files and delta-rs takes them as they are: what a table demands of its rows beyond their
types would be looked after by nobody. Such a table is refused with a line that names the demand.
"""

from collections.abc import Iterator
from typing import Final

from deltalake import DeltaTable

from restow.pipeline.delta import schemas
from restow.pipeline.table import TableTrouble

HARMLESS: Final = frozenset(
    [
        *("appendOnly", "changeDataFeed", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"),
        *("checkConstraints", "columnMapping", "deletionVectors", "generatedColumns", "identityColumns", "invariants"),
    ]
)
"""Features that ask nothing of files that are added, or whose use shows in the table's properties and columns."""


def refuse_unknown(table: DeltaTable) -> None:
    if reasons := sorted(_reasons(table)):
        raise TableTrouble(f"{reasons[0]}, which restow does not look after; let it write to another table")


def _reasons(table: DeltaTable) -> Iterator[str]:
    metadata = table.metadata()
    if metadata.partition_columns:
        yield f"it is partitioned by {', '.join(metadata.partition_columns)}"
    for name, value in metadata.configuration.items():
        if name == "delta.columnMapping.mode" and value != "none":
            yield f"it has {name} = {value}"
        if name.startswith("delta.constraints."):
            yield f"it has {name}"
        if name == "delta.enableDeletionVectors" and value == "true":
            yield f"it has {name} = true"
    for feature in table.protocol().writer_features or ():
        if feature not in HARMLESS:
            yield f"it has the feature {feature}"
    yield from schemas.demands(table.schema().to_json())
