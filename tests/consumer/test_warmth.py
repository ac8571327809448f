"""Which cycles are cold: those of a process that has worked for a short time, or that meet a new partition."""

from restow.consumer.warmth import COLD_CYCLES, COLD_S, Warmth
from restow.model import TopicPartition

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


def worked(cycles: int, busy_s: float) -> Warmth:
    warmth = Warmth()
    for _ in range(cycles):
        warmth = warmth.after([A0], busy_s / cycles)
    return warmth


def test_a_process_is_cold_until_it_has_worked_for_a_while_in_several_cycles() -> None:
    assert worked(COLD_CYCLES, COLD_S - 1).is_cold([A0])
    assert worked(COLD_CYCLES - 1, 10 * COLD_S).is_cold([A0])
    assert not worked(COLD_CYCLES, COLD_S).is_cold([A0])


def test_a_partition_that_was_never_read_makes_a_cycle_cold_once() -> None:
    warmth = worked(COLD_CYCLES, COLD_S)
    assert warmth.is_cold([A0, A1])
    assert not warmth.after([A0, A1], 1.0).is_cold([A1])
