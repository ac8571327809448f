"""The jars of Spark's Kafka connector, and those of Avro.

`make` fetches them with `python -m restow.pipeline.spark.jars`; otherwise the first session does.
"""

import logging
from typing import Final

from restow.errors import RestowError
from restow.java.jars import Bundle, Jar, fetch
from restow.logs import to_terminal

log = logging.getLogger(__name__)

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

AVRO: Final = Bundle(
    name="spark-avro",
    version="4.1.1",
    # Its dependencies are among Spark's own jars. It is not on every mirror in the version of the Spark release; that
    # of 4.1.1 has the same classes.
    jars=(Jar("org.apache.spark", "spark-avro_2.13", "4.1.1", alone=True),),
)
"""Fetched when a topic is the first to need it, and added to the running session."""

if __name__ == "__main__":
    with to_terminal():
        fetch(CONNECTOR)
        try:
            fetch(AVRO)
        except RestowError as error:
            log.warning('%s; only topics with format = "avro" need it', error)
