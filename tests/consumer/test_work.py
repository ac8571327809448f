"""What cycles say about a consumer's capacity: only warm, undisturbed, large ones count, and a report stays small."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from restow.consumer.events import CycleEnded
from restow.consumer.work import MOST_TOPICS, WorkWindow
from restow.model import SortedMapping
from restow.protocol.messages.reports import Work


def cycle(busy_s: float = 0.5, *, is_cold: bool = False, is_disturbed: bool = False, **sizes: int) -> CycleEnded:
    return replace(cycle_of(sizes), busy_s=busy_s, is_cold=is_cold, is_disturbed=is_disturbed)


def cycle_of(sizes: Mapping[str, int]) -> CycleEnded:
    by_topic = SortedMapping(sizes)
    return CycleEnded(SortedMapping(), SortedMapping(), bytes=sum(sizes.values()), busy_s=0.5, bytes_by_topic=by_topic)


def test_cycles_add_up_by_topic() -> None:
    window = WorkWindow().with_cycle(cycle(0.5, a=1_500_000)).with_cycle(cycle(0.75, a=500_000, b=600_000))
    assert window.work() == Work(2, 1.25, SortedMapping({"a": 2_000_000, "b": 600_000}))


@pytest.mark.parametrize(
    "other",
    [
        cycle(a=999_999),
        cycle(is_cold=True, a=2_000_000),
        cycle(is_disturbed=True, a=2_000_000),
        cycle(busy_s=0.0, a=2_000_000),
    ],
    ids=["small", "cold", "disturbed", "without time"],
)
def test_a_cycle_that_says_nothing_is_left_out(other: CycleEnded) -> None:
    assert WorkWindow().with_cycle(other).work() is None
    assert WorkWindow().with_cycle(cycle(a=1_000_000)).with_cycle(other).work() == Work(
        1, 0.5, SortedMapping({"a": 1_000_000})
    )


def test_many_topics_are_summed_up_beyond_the_largest() -> None:
    sizes = {f"topic{number:03}": 1_000_000 + number for number in range(MOST_TOPICS + 5)}
    work = WorkWindow().with_cycle(cycle_of(sizes)).work()
    assert work is not None
    assert set(work.bytes) == set(sorted(sizes)[5:])
    assert work.other_bytes == 5_000_000 + 0 + 1 + 2 + 3 + 4
    assert work.total_bytes == sum(sizes.values())
