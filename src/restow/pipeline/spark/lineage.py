"""Lineage: the columns `_topic`, `_partition`, `_offset` and `_timestamp`, which lead from a row back to its record.

A transform need not name them in its closing `select`. Spark's analyzer carries a column that a later sort asks for
through selects, filters, explodes, windows and limits that dropped it. So we add such a sort, let Spark analyze the
plan, and take the plan below the sort. Nothing can be carried through a join or an aggregate: there the transform keeps
the columns itself, or the topic has `lineage = false`.
"""

from typing import Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from restow.errors import RestowError
from restow.pipeline.spark.jvm import java_class

LINEAGE: Final = ("_topic", "_partition", "_offset", "_timestamp")


class LineageLost(RestowError):
    """Spark can't carry the lineage columns through the transform."""


def with_lineage(records: DataFrame) -> DataFrame:
    return records.selectExpr("*", *(f"{name.removeprefix('_')} AS {name}" for name in LINEAGE))


def renamed(records: DataFrame) -> DataFrame:
    """For records that no transform selects from: they have each lineage column once, under its lineage name."""
    return records.withColumnsRenamed({name.removeprefix("_"): name for name in LINEAGE})


def carried(records: DataFrame, rows: DataFrame) -> DataFrame:
    """The rows, with the lineage columns of their records. Raises LineageLost."""
    missing = [name for name in LINEAGE if name not in rows.columns]
    if not missing:
        return rows
    try:
        sort: Any = rows.sort(*(records[name] for name in missing))._jdf.queryExecution().analyzed()
    except AnalysisException:
        raise LineageLost(
            f"its rows have no {', '.join(missing)}, which can't be carried through a join or an aggregate; keep them "
            f"(… .select(…, {', '.join(map(repr, missing))})), or write lineage = false"
        ) from None
    if sort.getClass().getSimpleName() == "Project":  # which removes the columns that only the sort needed
        sort = sort.child()
    session = rows.sparkSession
    dataset = java_class(session, "org.apache.spark.sql.classic.Dataset")
    widened = dataset.ofRows(session._jsparkSession, sort.child())
    return DataFrame(widened, session).selectExpr(*(_quoted(name) for name in (*rows.columns, *missing)))


def _quoted(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`"
