"""KEDA's scaler: the lag divided by its threshold, rounded up, and no more replicas than partitions."""

import pytest

from restow.rivals.keda import replicas


@pytest.mark.parametrize(
    ("lag", "wanted"), [(0, 0), (1, 1), (10, 1), (11, 2), (95, 10), (119, 12), (121, 12), (10_000, 12)]
)
def test_a_replica_for_every_threshold_of_lag_up_to_the_partitions(lag: int, wanted: int) -> None:
    assert replicas(lag, partitions=12, threshold=10) == wanted


@pytest.mark.parametrize(("lag", "wanted"), [(0, 0), (10, 1), (35, 4), (45, 6), (61, 12), (10_000, 12)])
def test_an_even_distribution_takes_the_next_divisor(lag: int, wanted: int) -> None:
    assert replicas(lag, partitions=12, threshold=10, is_even=True) == wanted
