"""restow keeps a Kafka consumer group exactly as large as its load needs."""

__version__ = "0.1.0"
