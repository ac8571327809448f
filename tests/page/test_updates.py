"""What a browser gets: laid one over the other, it has the newest picture."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.examples import examples
from tests.support.picture_driver import pair

from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.page.updates import LARGE_BYTES, WHOLE_EVERY_S, Update, Updates
from restow.picture.parts import plain_picture
from restow.picture.picture import PartitionStatus, Picture

TWO_CONSUMERS = pair().picture()


def drawn(consumers: dict[int, int], others: int = 600) -> Picture:
    """Partitions of `a` and their consumers, beside others that stay as they are."""
    rows = {TopicPartition("a", number): _row(consumer) for number, consumer in consumers.items()}
    rows |= {TopicPartition("b", number): _row(1) for number in range(others)}
    return replace(TWO_CONSUMERS, partitions=SortedMapping(rows))


def _row(consumer: int) -> PartitionStatus:
    return PartitionStatus(ConsumerId(consumer), "2026-03-01T12:00:00.000Z", 1.5)


def laid_over(picture: Any, change: Any) -> Any:
    """As the browser does it."""
    consumers = {**picture["consumers"], **change["consumers"]}
    topics = {
        topic: {**picture["topics"].get(topic, {}), **change["topics"].get(topic, {})}
        for topic in {*picture["topics"], *change["topics"]}
    }
    return {
        "overview": change["overview"],
        "consumers": {number: row for number, row in consumers.items() if row is not None},
        "topics": {
            topic: kept
            for topic, rows in topics.items()
            if (kept := {number: row for number, row in rows.items() if row is not None})
        },
    }


def text_of(update: Update) -> Any:
    return json.loads(update.text)


def test_a_small_picture_is_always_whole() -> None:
    updates = Updates()
    assert [updates.made(drawn({0: consumer}, others=5), 0.0).change for consumer in (1, 2, 3)] == [None] * 3


def test_of_a_large_picture_only_what_moved_is_sent() -> None:
    updates = Updates()
    first = updates.made(drawn({0: 1, 1: 1}), 0.0)
    assert len(first.text) > LARGE_BYTES
    assert (first.number, first.base, first.change) == (0, 0, None)
    second = updates.made(drawn({0: 2}), 1.0)
    assert second.change is not None
    change = json.loads(second.change)
    assert change["topics"] == {"a": {"0": text_of(second)["topics"]["a"]["0"], "1": None}}
    assert (second.base, change["consumers"]) == (0, {})


def test_a_whole_picture_comes_every_ten_seconds_and_where_most_changed() -> None:
    updates = Updates()
    updates.made(drawn({0: 1}), 0.0)
    assert updates.made(drawn({0: 2}), WHOLE_EVERY_S - 0.1).change is not None
    assert updates.made(drawn({0: 2}), WHOLE_EVERY_S).change is None
    assert updates.made(drawn(dict.fromkeys(range(400), 2)), WHOLE_EVERY_S + 1).change is None


@settings(max_examples=examples(50))
@given(st.lists(st.dictionaries(st.integers(0, 3), st.integers(1, 3)), min_size=2, max_size=6), st.data())
def test_a_change_may_be_laid_over_any_picture_since_its_base(steps: list[dict[int, int]], data: st.DataObject) -> None:
    updates = Updates(large_bytes=0)
    pictures = [drawn(step, others=20) for step in steps]
    made = [updates.made(picture, float(at)) for at, picture in enumerate(pictures)]
    last = made[-1]
    assert last.change is not None
    held = data.draw(st.sampled_from(made[last.base : -1]))
    assert laid_over(text_of(held), json.loads(last.change)) == json.loads(json.dumps(plain_picture(pictures[-1])))
