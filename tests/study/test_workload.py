"""Workloads: the published walk, and traces that are read or refused with their place."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from restow.errors import InvalidInput
from restow.model import Speeds, TopicPartition
from restow.study.workload import STARTS, Recording, Walk, read_trace


@settings(deadline=None)
@given(d=st.integers(0, 30), seed=st.integers(0, 10**6), start=st.sampled_from(list(STARTS.values())))
def test_a_walk_goes_at_most_d_a_step_in_whole_numbers_and_stays_between_0_and_100(
    d: int, seed: int, start: int | None
) -> None:
    trace = Walk(d, seed, steps=5, start=start, partitions=20).speeds()
    assert len(trace) == len(Walk(d, seed, steps=5)) == 6
    for before, after in pairwise(trace):
        assert all(abs(after[partition] - speed) <= d for partition, speed in before.items())
    assert all(0 <= speed <= 100 and speed.is_integer() for speeds in trace for speed in speeds.values())


def test_the_published_walk_has_200_partitions_in_2_topics() -> None:
    [speeds] = Walk(5, seed=1, steps=0).speeds()
    assert list(speeds) == [TopicPartition(f"topic-{topic}", number) for topic in (0, 1) for number in range(100)]


def test_a_walk_can_start_with_all_partitions_at_one_speed() -> None:
    assert [set(Walk(5, 1, 0, start).speeds()[0].values()) for start in (0, 50, 100)] == [{0}, {50}, {100}]


def test_a_uniform_start_takes_every_speed_from_0_to_100_about_equally_often() -> None:
    [speeds] = Walk(5, seed=1, steps=0, partitions=20_000).speeds()
    counts = [list(speeds.values()).count(speed) for speed in range(101)]
    assert all(142 < count < 254 for count in counts)  # 198 ± 4 standard deviations


def test_every_change_from_minus_d_to_d_is_about_equally_likely() -> None:
    before, after = Walk(2, seed=1, steps=1, start=50, partitions=10_000).speeds()
    changes = [after[partition] - before[partition] for partition in before]
    assert all(1840 < changes.count(change) < 2160 for change in (-2, -1, 0, 1, 2))  # 2000 ± 4 standard deviations


def test_a_seed_gives_the_same_walk_and_another_one_another() -> None:
    assert Walk(5, seed=1, steps=3).speeds() == Walk(5, seed=1, steps=3).speeds()
    assert Walk(5, seed=1, steps=3).speeds() != Walk(5, seed=2, steps=3).speeds()


def trace(directory: Path, text: str) -> Path:
    file = directory / "trace.json"
    file.write_text(text, encoding="utf-8")
    return file


def test_partitions_may_come_and_go_between_the_steps_of_a_trace(tmp_path: Path) -> None:
    file = trace(tmp_path, '[{"orders": {"0": 1.5, "10": 2}}, {}, {"orders": {"0": 0}, "bills": {"3": 4}}]')
    assert read_trace(file) == Recording(
        (
            Speeds({TopicPartition("orders", 0): 1.5, TopicPartition("orders", 10): 2.0}),
            Speeds(),
            Speeds({TopicPartition("bills", 3): 4.0, TopicPartition("orders", 0): 0.0}),
        )
    )


ARRAY = "it must be an array with one object a step, [{topic: {partition: speed}}, …]"
SPEED = "it must be a number of bytes/s from 0 to 1e+18"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[{", "line 1, column 3 is not JSON"),
        ('{"orders": {"0": 1}}', ARRAY),
        ("[]", f"the whole is []; {ARRAY}, with one step or more"),
        ("[{}, 7]", '[1] is 7; it must be an object of topics, {"orders": {"7": 1250.0}}'),
        ('[{"orders": [1]}]', '[0].orders is [1]; it must be an object of partitions, {"7": 1250.0}'),
        ('[{"orders": {"x": 1}}]', "[0].orders.x is not a partition; write the number of one, like orders.7"),
        ('[{"orders": {"-1": 1}}]', "[0].orders.-1 is not a partition"),
        ('[{"orders": {"²": 1}}]', "[0].orders.² is not a partition"),
        ('[{"orders": {"99999999999": 1}}]', "[0].orders.99999999999 is not a partition"),
        ('[{}, {"orders": {"7": 1, "7": 1}}]', "[1].orders.7 is given twice; it must be given once"),
        ('[{}, {"orders": {"7": 1, "07": 1}}]', "[1].orders.07 is orders-7 once more; it must be given once"),
        ('[{"orders": {"7": -1}}]', f"[0].orders.7 is -1; {SPEED}"),
        ('[{"orders": {"7": NaN}}]', f"[0].orders.7 is NaN; {SPEED}"),
        ('[{"orders": {"7": Infinity}}]', f"[0].orders.7 is Infinity; {SPEED}"),
        ('[{"orders": {"7": 1e300}}]', f"[0].orders.7 is 1e+300; {SPEED}"),
        ('[{"orders": {"7": true}}]', f"[0].orders.7 is true; {SPEED}"),
        ('[{"orders": {"7": "1"}}]', f'[0].orders.7 is "1"; {SPEED}'),
        ('[{"orders": {"7": null}}]', f"[0].orders.7 is null; {SPEED}"),
    ],
)
def test_a_trace_that_cannot_be_used_is_refused_with_its_place(tmp_path: Path, text: str, complaint: str) -> None:
    file = trace(tmp_path, text)
    with pytest.raises(InvalidInput) as refused:
        read_trace(file)
    assert str(refused.value).startswith(f"{file}: ")
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)
