"""How often a measurement is published: a large group's takes its readers longer than a second."""

from typing import Final

PARTITIONS_PER_S: Final = 50_000
"""A controller has to decode a measurement, decide by it and draw its picture, besides hearing its consumers.
docs/scale.md has the figures."""


def publish_every_s(asked_s: float, partitions: int) -> float:
    """Seconds between two measurements of this many partitions: as asked, or longer if readers could not follow."""
    return max(asked_s, partitions / PARTITIONS_PER_S)
