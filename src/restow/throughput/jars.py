"""The jars of Delta for Spark, which only Structured Streaming needs: restow commits without them."""

from typing import Final

from restow.java.jars import Bundle, Jar

DELTA: Final = Bundle(name="delta-spark", version="4.3.1", jars=(Jar("io.delta", "delta-spark_4.1_2.13", "4.3.1"),))
"""For the Spark release that pyproject.toml pins."""
