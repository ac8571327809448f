"""The jars of Spark's Kafka connector.

`make` fetches them with `python -m restow.pipeline.spark.jars`; otherwise the first session does.
"""

from typing import Final

from restow.java.jars import Bundle, Jar, fetch
from restow.logs import to_terminal

CONNECTOR: Final = Bundle(
    name="spark-kafka",
    version="4.1.3",
    jars=(
        # Without their dependencies: the connector wants a token provider of its own version, which not every mirror
        # has, and that of 4.0.0 works as well. The dependencies of kafka-clients are among Spark's own jars.
        Jar("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.1.3", alone=True),
        Jar("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0", alone=True),
        Jar("org.apache.kafka", "kafka-clients", "3.9.1", alone=True),
        Jar("org.apache.commons", "commons-pool2", "2.12.1", alone=True),
    ),
)
"""Of the Spark release that pyproject.toml pins."""

if __name__ == "__main__":
    with to_terminal():
        fetch(CONNECTOR)
