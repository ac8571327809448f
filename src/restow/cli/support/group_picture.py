"""The newest picture of a group for the commands that read one, and its age."""

from datetime import UTC, datetime

from restow.errors import RestowError
from restow.picture.picture import Picture
from restow.settings import Settings


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
