"""Pauses of moved partitions, partitions that paused without a move, records doubled and lost, and the JSON of
`restow bench handover`."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from restow.errors import InvalidInput
from restow.study.handover import (
    KILL,
    LIGHT,
    RANGE,
    Change,
    Observed,
    Progress,
    Row,
    is_calm,
    joined,
    quantile,
    result,
    row,
    rows,
)
from restow.study.handover_plot import picture

KEYS = [
    *("contender", "change", "moved", "pause_p50_s", "pause_p99_s"),
    *("unmoved_paused", "in_effect_s", "duplicates", "lost"),
]
KILLED = Change(KILL, at_s=10.0, until_s=20.0)


def steady(partition: int, owner: str, from_s: float, to_s: float, every_s: float = 0.1) -> Iterator[Progress]:
    """A record every so often."""
    for number in range(round(from_s / every_s), round(to_s / every_s)):
        yield Progress(partition, number, number + 1, number * every_s, owner)


def observed(*progress: Progress, copies: dict[tuple[int, int], int] | None = None) -> Observed:
    produced_s = [number * 0.1 for number in range(200)]
    every = dict.fromkeys(((p, at) for p in range(2) for at in range(200)), 1)
    return Observed(LIGHT, [KILLED], progress, produced_s, every | (copies or {}), 2)


def test_a_move_pauses_from_the_old_owners_last_progress_to_the_new_owners_first_minus_the_usual_distance() -> None:
    seen = observed(*steady(0, "a", 0, 10), *steady(0, "b", 12.4, 20), *steady(1, "b", 0, 20))
    found = row(seen, KILL)
    assert found.moved == 1
    assert (found.pause_p50_s, found.in_effect_s) == pytest.approx((2.4, 2.4))
    assert (found.unmoved_paused, found.duplicates, found.lost) == (0, 0, 0)


def test_a_move_without_a_gap_has_no_pause() -> None:
    found = row(observed(*steady(0, "a", 0, 11), *steady(0, "b", 11, 20), *steady(1, "b", 0, 20)), KILL)
    assert (found.moved, found.pause_p99_s) == (1, 0.0)
    assert found.in_effect_s == pytest.approx(1.0)


def test_a_partition_that_stays_and_pauses_is_counted_and_a_short_gap_is_none() -> None:
    stays = [*steady(0, "a", 0, 10), *steady(0, "a", 11, 20)]
    assert row(observed(*stays, *steady(1, "b", 0, 20)), KILL).unmoved_paused == 1
    hiccups = [*steady(0, "a", 0, 10), *steady(0, "a", 10.4, 20)]
    assert row(observed(*hiccups, *steady(1, "b", 0, 20)), KILL).unmoved_paused == 0


def test_doubled_and_lost_records_are_those_produced_from_shortly_before_the_change_on() -> None:
    progress = [*steady(0, "a", 0, 20), *steady(1, "b", 0, 20)]
    long_ago = row(observed(*progress, copies={(0, 50): 2, (1, 60): 0}), KILL)
    assert (long_ago.duplicates, long_ago.lost) == (0, 0)
    of_it = row(observed(*progress, copies={(0, 95): 3, (1, 150): 0}), KILL)
    assert (of_it.duplicates, of_it.lost) == (2, 1)


def test_a_group_is_calm_if_all_partitions_progress_by_so_many_owners_and_none_has_moved() -> None:
    both = [*steady(0, "a", 0, 20), *steady(1, "b", 0, 20)]
    assert is_calm(both, 2, 20.0, 5.0, owners=2)
    assert is_calm(both, 2, 20.0, 5.0, owners=None)
    assert not is_calm(both, 2, 20.0, 5.0, owners=3)
    assert not is_calm(both, 3, 20.0, 5.0, owners=2), "a partition was never read"
    assert not is_calm(both, 2, 25.0, 5.0, owners=2), "nothing comes any more"
    moved = [*steady(0, "a", 0, 17), *steady(0, "c", 17, 20), *steady(1, "b", 0, 20)]
    assert not is_calm(moved, 2, 20.0, 5.0, owners=2)
    after_a_gap = [*steady(0, "a", 0, 14), *steady(0, "c", 17, 20), *steady(1, "b", 0, 20)]
    assert not is_calm(after_a_gap, 2, 20.0, 5.0, owners=2)


def test_quantiles_are_values_that_occurred() -> None:
    assert quantile([], 0.5) == 0.0
    assert quantile([1.0, 2.0, 3.0], 0.5) == 2.0
    assert quantile([float(n) for n in range(1, 101)], 0.99) == 99.0


def test_rows_exist_for_the_changes_that_were_made() -> None:
    assert [each.change for each in rows(observed(*steady(0, "a", 0, 20)))] == [KILL]


def test_the_json_has_exactly_these_keys_and_is_read_back(tmp_path: Path) -> None:
    first, second = Row(LIGHT, "join", 9, 0.04, 0.09, 0, 3.2, 0, 0), Row(RANGE, "kill", 16, 5.8, 6.8, 1, 6.9, 200, 0)
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    files[0].write_text(json.dumps(result([second, Row(LIGHT, "join", 1, 9.0, 9.0, 0, 9.0, 0, 0)])))
    files[1].write_text(json.dumps(result([first])))
    plain = json.loads(files[1].read_text())
    assert list(plain) == ["rows"]
    assert [list(each) for each in plain["rows"]] == [KEYS]
    assert joined(files) == [first, second], "a later result replaces an earlier one"
    with_unknown = {**plain["rows"][0], "contender": "flink"}
    files[0].write_text(json.dumps({"rows": [with_unknown]}))
    with pytest.raises(InvalidInput, match="no 'flink'"):
        joined(files)


def test_the_plot_has_a_panel_for_each_change_and_says_what_was_doubled() -> None:
    drawn = picture([Row(LIGHT, "join", 9, 0.04, 0.09, 0, 3.2, 0, 0), Row(RANGE, "kill", 16, 5.8, 6.8, 1, 6.9, 200, 0)])
    assert [axes.get_title() for axes in drawn.axes] == ["a member joins", "a member leaves", "a member is killed"]
    texts = [text.get_text() for axes in drawn.axes for text in axes.texts]
    assert texts == ["0.04 / 0.09", "5.8 / 6.8, 200 doubled"]
