"""How often the cluster is sampled and a measurement published: sooner while a speed changes, and a large group's less
often, which takes its readers longer than a second. roles/monitor.py asks."""

from typing import Final

from restow.monitor.meter import MeterReading
from restow.monitor.sample import Flags

PARTITIONS_PER_S: Final = 50_000
"""A controller has to decode a measurement, decide by it and draw its picture, besides hearing its consumers.
docs/scale.md has the figures."""

SOONER: Final = 0.5
"""The share of the usual time after which the next sample follows one that stands out."""

WORTH: Final = 0.02
"""Partitions with less than this share of all that is written don't matter: in a large group some stand out always."""

MOST_BUSY: Final = 0.25
"""Samples don't take more than this share of the time because they are taken sooner."""


def publish_every_s(asked_s: float, partitions: int) -> float:
    """Seconds between two measurements of this many partitions: as asked, or longer if readers could not follow."""
    return max(asked_s, partitions / PARTITIONS_PER_S)


def sample_after_s(asked_s: float, took_s: float, reading: MeterReading | None) -> float:
    """Seconds from one sample, which took so long, to the next: sooner if a change may have begun."""
    if reading is None or not _matter(reading, reading.stands_out):
        return asked_s
    return min(asked_s, max(asked_s * SOONER, took_s / MOST_BUSY))


def is_news(asked_s: float, reading: MeterReading) -> bool:
    """Whether the reading is published though none is due: speeds have changed, and readers can follow."""
    return publish_every_s(asked_s, len(reading.partitions)) == asked_s and _matter(reading, reading.changed)


def _matter(reading: MeterReading, chosen: Flags) -> bool:
    """Whether the chosen partitions have a share of what was written in the window, of what is believed to be written
    now, or of what was written last."""
    return any(
        float(speeds[chosen].sum()) > WORTH * float(speeds.sum())
        for speeds in (reading.bytes_per_s, reading.filtered_bytes_per_s, reading.newest_bytes_per_s)
    )
