"""The partitions whose unread records would be deleted within the catch-up time, from the picture, for the machine."""

from collections.abc import Mapping
from typing import Final

from restow.controller.events import RetentionSeen
from restow.model import SortedMapping, TopicPartition
from restow.picture.picture import Picture

CHANGED: Final = 0.2
"""The machine gets the partitions again when the time left differs by more than this share from what was expected."""


class Urgent:
    """Finds what has changed since the last time."""

    def __init__(self) -> None:
        self._deadlines_s: dict[TopicPartition, float] = {}

    def seen(self, picture: Picture, now_s: float) -> RetentionSeen | None:
        """Of a whole picture. Returns None if nothing has changed."""
        catch_up_s = picture.overview.limits.catch_up_s
        left_s = {
            partition: status.retention_margin_s
            for partition, status in picture.partitions.items()
            if status.retention_margin_s is not None and status.retention_margin_s < catch_up_s
        }
        if self._is_known(left_s, now_s):
            return None
        self._deadlines_s = {partition: now_s + seconds for partition, seconds in left_s.items()}
        return RetentionSeen(SortedMapping(left_s))

    def _is_known(self, left_s: Mapping[TopicPartition, float], now_s: float) -> bool:
        expected_s = {partition: deadline_s - now_s for partition, deadline_s in self._deadlines_s.items()}
        if left_s.keys() != expected_s.keys():
            return False
        return all(abs(expected_s[each] - found_s) <= max(1.0, CHANGED * found_s) for each, found_s in left_s.items())
