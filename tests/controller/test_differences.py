"""Events of a log, shortened to their difference from the last of their kind, and restored to the very same."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.controller.differences import BY, EventDifferences, applied, difference
from restow.errors import InvalidInput

TICK = {"type": "ClockTicked", "now_s": 812.4, "listening": True}
SPEEDS = {"type": "SpeedsMeasured", "time": "t", "speeds": {"a": {"0": 40.0, "1": 7.5}}, "records_per_s": {}}


def report(consumer: int, lag: int, mean_s: float = 0.25) -> dict[str, Any]:
    return {"type": "ConsumerReport", "consumer": consumer, "lag_records": {"a": {"0": lag}}, "cycle_s_mean": mean_s}


def shortened(*events: dict[str, Any]) -> list[dict[str, Any]]:
    differences = EventDifferences()
    return [differences.shorten(event) for event in events]


def restored(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    differences = EventDifferences()
    return [differences.restore(json.loads(json.dumps(event))) for event in events]


def test_the_clock_is_written_in_milliseconds_since_the_last_tick() -> None:
    later, deaf = TICK | {"now_s": 812.603}, TICK | {"now_s": 812.8, "listening": False}
    assert shortened(TICK, later, deaf) == [
        TICK,
        {"type": "ClockTicked", BY: [203]},
        {"type": "ClockTicked", BY: [197, [False]]},
    ]


def test_speeds_are_written_in_tenths_and_zeros_at_the_end_are_left_out() -> None:
    faster = SPEEDS | {"time": "u", "speeds": {"a": {"0": 40.3, "1": 7.5}}}
    assert shortened(SPEEDS, faster, faster) == [
        SPEEDS,
        {"type": "SpeedsMeasured", BY: [["u"], 3]},
        {"type": "SpeedsMeasured", BY: []},
    ]


def test_speeds_of_other_partitions_are_written_in_full() -> None:
    more = SPEEDS | {"speeds": {"a": {"0": 40.0, "1": 7.5, "2": 1.0}}}
    assert shortened(SPEEDS, more) == [SPEEDS, more]


def test_each_consumer_is_compared_with_its_own_last_report() -> None:
    def heard(*messages: dict[str, Any]) -> dict[str, Any]:
        return {"type": "Received", "heard": [{"offset": 7, "message": message} for message in messages]}

    first, then = heard(report(1, 10), report(2, 500)), heard(report(2, 510), report(1, 10, 1 / 3))
    short = shortened(first, then)
    by = [each["message"][BY] for each in short[1]["heard"]]
    assert by == [[10], [0, [1 / 3]]]
    assert restored(short) == [first, then]


def test_a_number_that_a_difference_would_change_is_written_itself() -> None:
    finer = TICK | {"now_s": 812.40001}
    assert shortened(TICK, finer) == [TICK, {"type": "ClockTicked", BY: [[812.40001]]}]
    assert restored(shortened(TICK, finer)) == [TICK, finer]


def test_other_events_stay_as_they_are() -> None:
    gone = {"type": "ConsumerGone", "consumer": 1}
    assert shortened(gone, gone) == [gone, gone]


leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
trees = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)
tenths = st.integers(-(10**12), 10**12).map(lambda number: number / 10)


@given(st.dictionaries(st.text(), trees), st.dictionaries(st.text(), trees), st.sampled_from([1, 10, 1000]))
def test_whatever_has_a_difference_is_restored_to_the_very_same(old: Any, new: Any, units: int) -> None:
    items = difference(old, new, units)
    if items is not None:
        assert repr(applied(old, json.loads(json.dumps(items)), units)) == repr(new)


@given(st.lists(st.tuples(tenths | leaves, tenths | leaves)))
def test_values_under_the_same_keys_always_have_a_difference(pairs: list[tuple[Any, Any]]) -> None:
    old, new = ({str(key): pair[side] for key, pair in enumerate(pairs)} for side in (0, 1))
    items = difference(old, new, 10)
    assert items is not None
    assert repr(applied(old, json.loads(json.dumps(items)), 10)) == repr(new)


@pytest.mark.parametrize("items", [7, [1, 2, 3], ["x"], [[1, 2]], [{}]])
def test_a_difference_that_does_not_fit_is_refused(items: Any) -> None:
    with pytest.raises(InvalidInput, match="does not fit the event before it"):
        restored([TICK, {"type": "ClockTicked", BY: items}])


def test_a_difference_to_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="this ClockTicked is a difference, and none precedes it"):
        restored([{"type": "ClockTicked", BY: [1]}])
