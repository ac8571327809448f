"""The machine gets the partitions to serve first when they change, and not every second."""

from dataclasses import replace

from tests.support.picture_driver import pair

from restow.controller.events import RetentionSeen
from restow.model import SortedMapping
from restow.picture.picture import Picture
from restow.picture.urgent import Urgent


def with_margins(picture: Picture, *margins_s: float | None) -> Picture:
    partitions = {
        partition: replace(status, retention_margin_s=margin_s)
        for (partition, status), margin_s in zip(picture.partitions.items(), margins_s, strict=False)
    }
    return replace(picture, partitions=SortedMapping(partitions))


def test_what_has_changed_is_told_once() -> None:
    picture, urgent = pair().picture(), Urgent()
    first, second, *_ = picture.partitions
    assert urgent.seen(with_margins(picture, None, 5000.0), 0.0) is None
    assert urgent.seen(with_margins(picture, 200.0, 5000.0), 10.0) == RetentionSeen(SortedMapping({first: 200.0}))
    assert urgent.seen(with_margins(picture, 190.0, 5000.0), 20.0) is None
    assert urgent.seen(with_margins(picture, 190.0, 5000.0), 90.0) == RetentionSeen(SortedMapping({first: 190.0}))
    both = RetentionSeen(SortedMapping({first: 190.0, second: 20.0}))
    assert urgent.seen(with_margins(picture, 190.0, 20.0), 91.0) == both
    assert urgent.seen(with_margins(picture, None, None), 92.0) == RetentionSeen(SortedMapping())
    assert urgent.seen(with_margins(picture, None, None), 93.0) is None
