"""Keeps Spark from parsing every record twice: once for a filter, and once for the rows that it lets through.

    order = F.from_json(F.col("value").cast("string"), SCHEMA)
    records.select(order.alias("order")).select("order.*").filter("status = 'DELIVERED'")

Spark's optimizer moves the filter below the select that it can't see through, and puts a second `from_json` into it. It
moves no filter below an observed metric. So we put one right above the select that parses. Everything else is optimized
as before: the filter still runs before whatever is computed of the parsed fields.
"""

from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from restow.pipeline.spark.jvm import java_class

WORTH_FROM_RECORDS: Final = 5000
"""Changing a plan takes about 25 ms, parsing a record of 1 kB about 5 µs."""
DEEPEST: Final = 50
"""Operators above the select that parses; a plan that has more is left as it is."""
METRIC: Final = "restow_parsed"


def parsed_once(rows: DataFrame) -> DataFrame:
    """The same rows. Does nothing if they are not parsed with `from_json`, or not filtered afterwards."""
    session = rows.sparkSession
    json: Any = java_class(session, "org.apache.spark.sql.catalyst.trees.TreePattern").JSON_TO_STRUCT()
    found: Any = rows._jdf.queryExecution().analyzed()
    above: list[Any] = []
    if not found.containsPattern(json):
        return rows
    while (child := _only_child(found)) is not None and child.containsPattern(json):
        above.append(found)
        found = child
    is_filtered = any(_name(operator) == "Filter" for operator in above)
    if child is None or not is_filtered or _name(found) != "Project" or len(above) > DEEPEST:
        return rows
    dataset: Any = java_class(session, "org.apache.spark.sql.classic.Dataset")
    parsed = DataFrame(dataset.ofRows(session._jsparkSession, found), session)
    plan: Any = parsed.observe(METRIC, expr("count(1) AS records"))._jdf.queryExecution().analyzed()
    to_seq: Any = java_class(session, "org.apache.spark.api.python.PythonUtils").toSeq
    for operator in reversed(above):
        plan = operator.withNewChildren(to_seq([plan]))
    return DataFrame(dataset.ofRows(session._jsparkSession, plan), session)


def _only_child(operator: Any) -> Any | None:
    """None for a relation, a join or a union."""
    children = operator.children()
    return children.head() if children.size() == 1 else None


def _name(operator: Any) -> str:
    return str(operator.nodeName())
