"""The jars that Spark needs beside its own to read Kafka. `make` fetches them; else the first session does."""

from typing import Final

from restow.java.jars import Bundle, Jar

CONNECTOR: Final = Bundle(
    name="spark-kafka",
    version="4.1.3",
    jars=(
        # Each by itself: the connector asks for a token provider of its own version, which not every mirror has, and
        # the one of 4.0.0 serves as well. What kafka-clients asks for is among Spark's own jars.
        Jar("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.1.3", alone=True),
        Jar("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0", alone=True),
        Jar("org.apache.kafka", "kafka-clients", "3.9.1", alone=True),
        Jar("org.apache.commons", "commons-pool2", "2.12.1", alone=True),
    ),
)
"""Spark's own Kafka connector, of the release of Spark that pyproject.toml pins."""
