"""The rules of the HorizontalPodAutoscaler, of Flink's autoscaler and of uForwarder's."""

import pytest

from restow.rivals.flink import FlinkAutoscaler
from restow.rivals.hpa import HorizontalPodAutoscaler
from restow.rivals.uforwarder import UForwarder

EVERY_S = 30.0


def test_the_pod_autoscaler_leaves_the_number_alone_within_its_tolerance() -> None:
    scaler = HorizontalPodAutoscaler()
    assert scaler.replicas(0.0, metric=1090, target=100, current=10, every_s=EVERY_S) == 10
    assert scaler.replicas(30.0, metric=1110, target=100, current=10, every_s=EVERY_S) == 12


def test_the_pod_autoscaler_grows_by_doubling_and_shrinks_after_its_window() -> None:
    scaler = HorizontalPodAutoscaler()
    assert scaler.replicas(0.0, metric=10_000, target=100, current=5, every_s=15.0) == 10
    sizes = [scaler.replicas(30.0 * step, metric=200, target=100, current=10, every_s=EVERY_S) for step in range(1, 12)]
    assert sizes[:10] == [10] * 10, "the hundred that it wanted are within the last 300 s"
    assert sizes[10] == 2


def test_flink_does_nothing_within_its_bounds() -> None:
    scaler = FlinkAutoscaler(capacity=100.0)
    assert {scaler.parallelism(60.0 * step, 700.0, 0.0, 10) for step in range(100)} == {10}


def test_flink_sizes_for_its_target_and_then_waits_for_the_stabilisation_interval() -> None:
    scaler = FlinkAutoscaler(capacity=100.0, window_s=1.0)
    # 1,100 come in: at 70 % that takes 1,571, and what a restart of 300 s leaves takes 183 over 1,800 s.
    assert scaler.parallelism(0.0, 1100.0, 0.0, 10) == 18
    assert scaler.parallelism(60.0, 9000.0, 0.0, 18) == 18
    assert scaler.parallelism(300.0, 9000.0, 0.0, 18) > 18


def test_flink_shrinks_after_its_interval_to_the_largest_size_it_wanted() -> None:
    scaler = FlinkAutoscaler(capacity=100.0, window_s=1.0)
    sizes = []
    for step in range(62):
        rate = 200.0 if step != 30 else 300.0
        sizes.append(scaler.parallelism(60.0 * step, rate, 0.0, 10))
    assert sizes[:60] == [10] * 60
    assert sizes[60] == 5, "what 300 a second take: 429 and 50"


def test_uforwarder_grows_by_the_median_of_five_minutes() -> None:
    scaler = UForwarder(rate_per_worker=100.0)
    sizes = [scaler.workers(EVERY_S * step, 1000.0 if step == 0 else 1500.0, 10) for step in range(12)]
    assert sizes[:10] == [10] * 10
    assert sizes[11] == 15


@pytest.mark.parametrize(("rate", "size"), [(900.0, 10), (700.0, 7), (100.0, 5)])
def test_uforwarder_shrinks_by_the_high_percentile_of_a_day_and_to_half_at_most(rate: float, size: int) -> None:
    scaler = UForwarder(rate_per_worker=100.0)
    day = [scaler.workers(600.0 * step, rate, 10) for step in range(146)]
    assert set(day[:144]) == {10}
    assert day[145] == size
