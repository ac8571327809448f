"""Speeds over whole commits, capacity with its spread, and the JSON of `restow bench consumer`."""

import json
from dataclasses import fields
from pathlib import Path

import pytest

from restow.errors import InvalidInput
from restow.study.throughput import (
    BARE,
    BASE,
    CASES,
    CONTENDERS,
    LOOP,
    RESTOW,
    TUNED,
    Case,
    Commit,
    Load,
    Row,
    Speed,
    TooFewCommits,
    capacity,
    cpu_shares,
    gaps_s,
    joined,
    ratios,
    result,
    row_of,
    speed,
)
from restow.study.throughput_plot import picture

KEYS = [
    "contender",
    "cores",
    "record_bytes",
    "partitions",
    "topics",
    "tables",
    "brokers",
    "mb_per_s",
    "records_per_s",
    "cpu_s_per_gb",
    "memory_mb",
]


def commits(table: str, *seen: tuple[float, float]) -> list[Commit]:
    return [Commit(table, time_s, records) for time_s, records in seen]


def row(contender: str, mb_per_s: float, case: Case = BASE) -> Row:
    return row_of(contender, case, Speed(mb_per_s * 1e6 / case.record_bytes, 1.0, 2.0, 5), 0.9, 1e9)


def test_a_speed_is_taken_from_the_first_commit_after_the_warm_up_to_the_last_one() -> None:
    seen = commits("a", (1.0, 5000.0), (10.0, 7000.0), (12.0, 40.0), (15.0, 60.0))
    found = speed(seen, from_s=9.0)
    assert (found.records_per_s, found.commits) == (100 / 5, 2)


def test_speeds_of_several_tables_add_up_each_over_its_own_commits() -> None:
    seen = [*commits("a", (10.0, 1.0), (20.0, 100.0)), *commits("b", (11.0, 1.0), (13.0, 100.0))]
    assert speed(seen, 0.0).records_per_s == pytest.approx(10 + 50)


def test_the_spread_is_that_of_pieces_of_whole_commits() -> None:
    """A piece is a sixth of the time or more: a long cycle is one piece, short ones are joined."""
    seen = commits("a", *((float(second), 10.0) for second in range(31)), (36.0, 120.0))
    found = speed(seen, 0.0)
    assert (found.slowest_per_s, found.fastest_per_s) == (10, 20)
    assert found.records_per_s == pytest.approx(420 / 36)


@pytest.mark.parametrize("seen", [[], [(10.0, 1.0)], [(1.0, 1.0), (2.0, 1.0), (10.0, 1.0)]])
def test_less_than_two_commits_after_the_warm_up_have_no_speed(seen: list[tuple[float, float]]) -> None:
    with pytest.raises(TooFewCommits, match="needs two or more"):
        speed(commits("a", *seen), from_s=5.0)


def test_a_table_with_one_commit_leaves_the_speed_unknown() -> None:
    with pytest.raises(TooFewCommits, match="made 1 commits"):
        speed([*commits("a", (6.0, 1.0), (7.0, 1.0)), *commits("b", (6.0, 1.0))], from_s=5.0)


def test_cpu_time_is_counted_after_the_warm_up_and_that_of_others_apart() -> None:
    loads = [Load(0.0, 0.0, 50.0), Load(10.0, 9.0, 60.0), Load(20.0, 18.0, 69.5)]
    assert cpu_shares(loads, 10.0) == pytest.approx((0.9, 0.05))


def test_cycles_are_the_gaps_between_commits_to_one_table() -> None:
    seen = [*commits("a", (1.0, 1), (6.0, 1), (9.0, 1)), *commits("b", (6.5, 1), (8.5, 1))]
    assert gaps_s(seen, 5.0) == [3.0, 2.0]


def test_a_row_has_bytes_of_values_and_cpu_time_for_a_gigabyte() -> None:
    found = row_of(LOOP, Case(record_bytes=150), Speed(100_000.0, 1.0, 2.0, 5), 0.9, 512e6)
    assert (found.mb_per_s, found.records_per_s, found.cpu_s_per_gb, found.memory_mb) == (15.0, 100_000.0, 60.0, 512.0)


def test_the_capacity_counts_the_log_s_bytes_and_has_its_spread() -> None:
    found = capacity(BASE, Speed(40_000.0, 30_000.0, 50_000.0, 9), log_bytes_per_record=1010.0)
    assert (found.bytes_per_s, found.lowest_bytes_per_s, found.highest_bytes_per_s) == (
        40_400_000,
        30_300_000,
        50_500_000,
    )


def test_the_json_has_exactly_these_keys() -> None:
    found = json.loads(json.dumps(result([row(RESTOW, 40.0)], 40_400_000)))
    assert list(found) == ["rows", "capacity_bytes_per_s"]
    assert [list(each) for each in found["rows"]] == [KEYS]


def test_results_are_joined_and_a_later_row_of_a_case_counts(tmp_path: Path) -> None:
    parts = [
        result([row(RESTOW, 40.0), row(LOOP, 70.0)], 40_400_000),
        result([row(RESTOW, 14.0, Case(partitions=144)), row(LOOP, 72.0)], 14_000_000),
    ]
    files = [tmp_path / f"{number}.json" for number in range(len(parts))]
    for file, part in zip(files, parts, strict=True):
        file.write_text(json.dumps(part))
    rows, found = joined(files)
    assert [(each.contender, each.partitions, each.mb_per_s) for each in rows] == [
        (RESTOW, 8, 40.0),
        (LOOP, 8, 72.0),
        (RESTOW, 144, 14.0),
    ]
    assert found == 40_400_000


def test_a_result_without_restow_has_no_capacity(tmp_path: Path) -> None:
    file = tmp_path / "peers.json"
    file.write_text(json.dumps(result([row(LOOP, 70.0)], None)))
    assert joined([file]) == ([row(LOOP, 70.0)], None)


@pytest.mark.parametrize(
    ("change", "wanted"),
    [({"contender": "flink"}, "no contender 'flink'"), ({"cores": 0}, "must be 1 or more"), ({"more": 1}, "more")],
)
def test_a_wrong_result_is_refused(tmp_path: Path, change: dict[str, object], wanted: str) -> None:
    file = tmp_path / "wrong.json"
    whole = json.loads(json.dumps(result([row(LOOP, 70.0)], None)))
    whole["rows"][0] |= change
    file.write_text(json.dumps(whole))
    with pytest.raises(InvalidInput, match=wanted):
        joined([file])


def test_restow_is_compared_with_each_peer_of_the_same_case() -> None:
    wide = Case(partitions=144)
    rows = [row(RESTOW, 40.0), row(LOOP, 80.0), row(TUNED, 20.0), row(LOOP, 50.0, wide)]
    assert ratios(rows) == {BASE: {LOOP: pytest.approx(0.5), TUNED: pytest.approx(2.0)}}


def test_every_case_has_restow_and_its_partitions_and_tables_are_shared_out() -> None:
    cases = [(case, names) for kind in CASES.values() for case, names in kind.items()]
    assert len({case for case, _ in cases}) == len(cases)
    assert all(RESTOW in names and {*names} <= {*CONTENDERS} for _, names in cases)
    for case, _ in cases:
        assert sum(case.by_topic.values()) == case.partitions
        assert len(case.by_topic) == case.topics
        assert len({case.table_of(topic) for topic in case.by_topic}) == case.tables
        assert max(case.by_topic.values()) - min(case.by_topic.values()) <= 1


def test_each_question_of_the_benchmark_has_a_case() -> None:
    for field in fields(Case):
        assert len({getattr(case, field.name) for kind in CASES.values() for case in kind}) > 1, field.name


def test_a_case_is_named_by_what_it_has() -> None:
    assert str(BASE) == "1 kB, 8 partitions"
    assert str(Case(record_bytes=150, partitions=1)) == "150 B, 1 partition"
    assert str(Case(2, 1000, 144, 5, 5, 3)) == "1 kB, 144 partitions, 5 topics, 5 tables, 3 brokers, 2 cores"


def test_the_plot_has_a_bar_for_each_row_and_the_bare_client_beside_the_others() -> None:
    rows = [row(RESTOW, 40.0), row(LOOP, 70.0), row(BARE, 400.0), row(RESTOW, 14.0, Case(partitions=144))]
    storing, reading = picture(rows).get_axes()
    widths = [[patch.get_width() for patch in axes.patches] for axes in (storing, reading)]  # type: ignore[attr-defined]
    assert widths == [[40.0, 14.0, 70.0], [400.0]]
    assert [text.get_text() for text in storing.get_yticklabels()] == ["1 kB, 8 partitions", "1 kB, 144 partitions"]
