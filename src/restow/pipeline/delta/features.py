"""Refuses Delta tables that demand more of their rows than restow checks. Called whenever a table is opened.

Spark writes plain Parquet files and delta-rs commits them as they are, so constraints beyond the column types would not
be enforced. Such a table is refused with a message that names the feature.
"""

from collections.abc import Iterator
from typing import Final

from deltalake import DeltaTable

from restow.pipeline.delta import schemas
from restow.pipeline.delta.errors import DeltaTableError

SUPPORTED_FEATURES: Final = frozenset(
    [
        *("appendOnly", "changeDataFeed", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"),
        *("checkConstraints", "columnMapping", "deletionVectors", "generatedColumns", "identityColumns", "invariants"),
    ]
)
"""Writer features that don't concern added files, or whose use shows in the table's properties and columns."""


def refuse_unsupported(table: DeltaTable) -> None:
    if reasons := sorted(_unsupported(table)):
        raise DeltaTableError(f"{reasons[0]}, which restow does not support; let restow write to another table")


def _unsupported(table: DeltaTable) -> Iterator[str]:
    metadata = table.metadata()
    for name, value in metadata.configuration.items():
        if name == "delta.columnMapping.mode" and value != "none":
            yield f"it has {name} = {value}"
        if name.startswith("delta.constraints."):
            yield f"it has {name}"
        if name == "delta.enableDeletionVectors" and value == "true":
            yield f"it has {name} = true"
    for feature in table.protocol().writer_features or ():
        if feature not in SUPPORTED_FEATURES:
            yield f"it has the feature {feature}"
    yield from schemas.constraints(table.schema().to_json())
