"""Pictures of a group, drawn now, on a real status topic."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.support.picture_driver import pair

from restow.kafka.channels.status import StatusPublisher
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.picture.parts import PictureRecord, headers_of
from restow.picture.picture import Lag, PartitionStatus, Picture
from restow.settings import Kafka, Settings, read_settings

TWO_CONSUMERS = pair().picture()


def config(tmp_path: Path, kafka: Kafka, group: str) -> Path:
    file = tmp_path / "restow.toml"
    file.write_text(f'[kafka]\nbootstrap = "{kafka.bootstrap}"\n[group]\nname = "{group}"\n')
    return file


def settings_in(file: Path) -> Settings:
    return read_settings(file.read_text(), str(file), {})


def drawn(seconds_ago: float = 0.0, partitions: int = 4, first_on: int | None = None) -> Picture:
    """Two consumers; the first partition is read by `first_on`, the others by none."""
    time = (datetime.now(UTC) - timedelta(seconds=seconds_ago)).isoformat(timespec="milliseconds")
    rows = {TopicPartition("a", number): PartitionStatus(None, None, 1.0) for number in range(partitions)}
    if first_on is not None:
        rows[TopicPartition("a", 0)] = PartitionStatus(ConsumerId(first_on), time, 40.0, Lag(7, 0.5))
    overview = replace(TWO_CONSUMERS.overview, time=time.replace("+00:00", "Z"), since=time)
    return replace(TWO_CONSUMERS, overview=overview, partitions=SortedMapping(rows))


def publish(settings: Settings, records: Iterable[PictureRecord]) -> None:
    publisher = StatusPublisher(settings, headers_of("host-7", settings.group.name))
    publisher.publish(records)
    publisher.close()
