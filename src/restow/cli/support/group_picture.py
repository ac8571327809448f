"""The newest picture of a group for the commands that read one, its age, and what is in it."""

from datetime import UTC, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING

from restow.errors import InvalidInput, RestowError
from restow.model import ConsumerId, TopicPartition
from restow.picture.picture import ConsumerStatus, Picture
from restow.settings import Settings

if TYPE_CHECKING:
    from restow.kafka.channels.status import StatusReader


def age_s(picture: Picture, now: datetime | None = None) -> float:
    drawn = datetime.fromisoformat(picture.overview.time)
    return max(0.0, ((now or datetime.now(UTC)) - drawn).total_seconds())


def newest_picture(settings: Settings) -> Picture:
    """Raises RestowError, also if there is none."""
    # Kafka's client takes longer to load than most commands take to run, so only commands that read the topic load it.
    from restow.kafka.channels.status import StatusReader
    from restow.picture.parts import Assembler

    with StatusReader(settings, Assembler) as reader:
        picture = reader.newest()
    if picture is None:
        raise RestowError(
            f"{settings.topics.status} has no picture yet; does `restow controller` of group {settings.group.name} run?"
        )
    return picture


def picture_if_any(reader: "StatusReader[Picture]") -> Picture | None:
    """Returns None before the first controller of the group. Raises RestowError if it can't be read."""
    from restow.kafka.errors import NoSuchTopic

    try:
        return reader.newest()
    except NoSuchTopic:
        return None


def consumer_in(picture: Picture, consumer: ConsumerId) -> ConsumerStatus:
    """Raises InvalidInput if the group has no such consumer."""
    status = picture.consumers.get(consumer)
    if status is None:
        numbers = ", ".join(str(number) for number in picture.consumers) or "none"
        raise InvalidInput(f"group {picture.overview.group} has no consumer {consumer}; it has {numbers}")
    return status


def check_partition(picture: Picture, partition: TopicPartition) -> None:
    """Raises InvalidInput if the group does not consume it."""
    if partition in picture.partitions:
        return
    group, topics = picture.overview.group, sorted({each.topic for each in picture.partitions})
    if partition.topic in topics:
        count = sum(each.topic == partition.topic for each in picture.partitions)
        raise InvalidInput(
            f"{partition.topic} has no partition {partition.partition}; group {group} reads {count} of it"
        )
    near = get_close_matches(partition.topic, topics, n=1)
    right = (
        f"did you mean {near[0]}-{partition.partition}?" if near else f"it consumes {', '.join(topics) or 'none yet'}"
    )
    raise InvalidInput(f"group {group} does not consume {partition.topic}; {right}")
