"""The jars of Delta for Spark, which only Structured Streaming needs: restow commits without them."""

from typing import Final

from restow.java.jars import Bundle, Jar

DELTA: Final = Bundle(
    name="spark-delta",
    version="4.3.1",
    # Without their dependencies: Spark has these, in the versions that it needs.
    jars=(
        Jar("io.delta", "delta-spark_4.1_2.13", "4.3.1", alone=True),
        Jar("io.delta", "delta-storage", "4.3.1", alone=True),
        Jar("io.delta", "delta-kernel-api", "4.3.1", alone=True),
        Jar("io.delta", "delta-kernel-defaults", "4.3.1", alone=True),
        Jar("io.delta", "delta-kernel-unitycatalog", "4.3.1", alone=True),
        Jar("io.unitycatalog", "unitycatalog-client", "0.5.0", alone=True),
        Jar("io.unitycatalog", "unitycatalog-hadoop", "0.5.0", alone=True),
    ),
)
"""For the Spark release that pyproject.toml pins."""
