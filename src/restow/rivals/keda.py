"""KEDA's Kafka scaler: how many replicas it wants for the lag of a group.

The scaler's metric is the group's lag in records. The HorizontalPodAutoscaler behind it wants `lagThreshold` records a
replica, so that it asks for lag / lagThreshold replicas, rounded up. KEDA bounds that by the number of partitions,
since further consumers would be idle. With `ensureEvenDistributionOfPartitions` it takes the next divisor of that
number, so that every replica gets as many partitions as the others.
"""

from typing import Final

LAG_THRESHOLD: Final = 10
"""KEDA's default, in records a replica."""


def replicas(lag_records: float, partitions: int, threshold: float = LAG_THRESHOLD, *, is_even: bool = False) -> int:
    """What the scaler asks the autoscaler for. 0 without lag: KEDA scales to zero after its cool-down."""
    if lag_records <= 0 or not partitions:
        return 0
    wanted = next((n for n in divisors(partitions) if n * threshold >= lag_records), partitions) if is_even else None
    return min(partitions, wanted if wanted is not None else rounded_up(lag_records / threshold))


def divisors(number: int) -> list[int]:
    return [each for each in range(1, number + 1) if number % each == 0]


def rounded_up(value: float) -> int:
    """Without the last digits of floating point: 3.0000000001 is 3."""
    return -int(-(value - 1e-9) // 1)
