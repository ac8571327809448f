"""The checker of pins: when one may end before its time."""

from dataclasses import replace

import pytest
from tests.support.controller_driver import A0, A1, A2, A3, Driver, rules

from restow.controller.state import State
from restow.model import ConsumerId, TopicPartition
from restow.platform.interface import ConsumerCrashed
from restow.protocol.messages.desired import PartitionPin
from restow.simulator.checkers.granted import PinsHold

TWO = ConsumerId(2)


@pytest.fixture
def pinned() -> State:
    """Consumer 1 reads a-0, which is pinned to consumer 2 and has not moved yet."""
    driver = Driver(rules(least_consumers=2)).takes_over({1: (A0, A1), 2: (A2, A3)})
    driver.measures(a_0=20, a_1=20, a_2=30, a_3=30)
    driver.desires(PartitionPin(A0, TWO, "2026-03-01T13:00:00Z", "anna@host-a"))
    assert driver.state.desired.taken_pins.keys() == {A0}
    return driver.state


def found(before: State, after: State) -> list[int]:
    lines: list[int] = []

    def report(line: int, words: str) -> None:
        assert "is dropped without a reason" in words
        lines.append(line)

    PinsHold(report).stepped(before, ConsumerCrashed(ConsumerId(1), "killed"), after, ())
    return lines


@pytest.mark.parametrize(
    ("suspects", "lines"),
    [
        pytest.param((), [4], id="without-a-reason"),
        pytest.param((A0,), [], id="its-partition-crashed-consumers"),
        pytest.param((A1,), [4], id="another-partition-did"),
    ],
)
def test_a_pin_ends_early_only_if_its_partition_crashes_consumers(
    pinned: State, suspects: tuple[TopicPartition, ...], lines: list[int]
) -> None:
    after = replace(pinned, desired=pinned.desired.without_pin(A0), suspects=frozenset(suspects))
    assert found(pinned, after) == lines


def test_a_pin_to_the_consumer_that_reads_the_suspect_holds(pinned: State) -> None:
    views = {**pinned.consumers, TWO: replace(pinned.consumers[TWO], held=frozenset({A0}))}
    after = replace(pinned, desired=pinned.desired.without_pin(A0), suspects=frozenset({A0}), consumers=views)
    assert found(pinned, after) == [4]
