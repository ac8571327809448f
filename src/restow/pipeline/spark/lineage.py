"""Which record a row is from: `_topic`, `_partition`, `_offset`, `_timestamp`. `user_code.py` has them on every frame
that a transform gets, and on what it gives.

A transform may name its columns in a closing `select` and need not think of these. Spark itself carries a column that a
later sort asks for through what forgot it: selects, filters, explodes, windows, limits. We ask for such a sort, have
Spark work out the plan, and take the plan without the sort. Through a join or an aggregate nothing is carried: there a
transform keeps them itself, or does without them (`lineage = false`).
"""

from typing import Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from restow.errors import RestowError
from restow.pipeline.spark.jvm import java_class

LINEAGE: Final = ("_topic", "_partition", "_offset", "_timestamp")


class LineageLost(RestowError):
    """A transform gives rows of which Spark can't say which record they are from."""


def with_lineage(records: DataFrame) -> DataFrame:
    return records.selectExpr("*", *(f"{name.removeprefix('_')} AS {name}" for name in LINEAGE))


def carried(records: DataFrame, rows: DataFrame) -> DataFrame:
    """The rows with the lineage of the records they were made from."""
    missing = [name for name in LINEAGE if name not in rows.columns]
    if not missing:
        return rows
    try:
        sort: Any = rows.sort(*(records[name] for name in missing))._jdf.queryExecution().analyzed()
    except AnalysisException:
        raise LineageLost(
            f"it gives no {', '.join(missing)}, and they can't be carried through a join or an aggregate; keep them "
            f"(… .select(…, {', '.join(map(repr, missing))})), or write lineage = false"
        ) from None
    if sort.getClass().getSimpleName() == "Project":  # which takes away again what only the sort needed
        sort = sort.child()
    session = rows.sparkSession
    dataset = java_class(session, "org.apache.spark.sql.classic.Dataset")
    widened = dataset.ofRows(session._jsparkSession, sort.child())
    return DataFrame(widened, session).selectExpr(*(_quoted(name) for name in (*rows.columns, *missing)))


def _quoted(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`"
