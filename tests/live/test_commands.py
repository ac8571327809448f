"""The commands that change a group, with a real controller and real consumers: what it takes, what it does, and that
nothing is lost."""

import json
import os
import signal
from typing import Any

import pytest
from tests.support.live_groups import LiveGroup

from restow.cli import main
from restow.kafka.channels.status import StatusReader
from restow.model import ConsumerId, TopicPartition
from restow.picture.parts import Assembler
from restow.picture.picture import Picture
from restow.settings import read_settings


class Operator:
    """A person at another machine: the commands, and the picture."""

    def __init__(self, group: LiveGroup, capsys: pytest.CaptureFixture[str]) -> None:
        self._group, self._capsys = group, capsys
        self._settings = read_settings(group.config.read_text(), "restow.toml", {})

    def says(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        """Runs a command, and returns what it printed as JSON."""
        assert main([*arguments, "--json", "--reason", "a test", "--config", str(self._group.config)]) == code
        found: dict[str, Any] = json.loads(self._capsys.readouterr().out)
        assert found["group"] == self._group.name
        return found

    def is_told(self, *arguments: str) -> None:
        """The controller takes it."""
        assert self.says(*arguments)["outcome"] == "taken"

    def picture(self) -> Picture:
        with StatusReader(self._settings, Assembler) as reader:
            found = reader.newest()
        assert found is not None
        return found

    def readers(self) -> dict[TopicPartition, ConsumerId | None]:
        return {partition: status.consumer for partition, status in self.picture().partitions.items()}


@pytest.fixture
def operator(group: LiveGroup, capsys: pytest.CaptureFixture[str]) -> Operator:
    return Operator(group, capsys)


def test_topics_are_added_and_removed_and_limits_are_set(group: LiveGroup, operator: Operator) -> None:
    orders = group.topic("orders", 2)
    group.produce(orders)
    group.measure(dict.fromkeys(orders, 0.1))
    group.start_controller()
    group.settle(orders, consumers=1)
    operator.is_told("topics", "remove", orders[0].topic)
    group.eventually(lambda: group.is_settled((), 0) or operator.readers() == {})
    group.produce(orders)
    operator.is_told("topics", "reset", orders[0].topic)
    group.settle(orders, consumers=1)
    operator.is_told("consumers", "set", "capacity=250")
    group.settle(orders, consumers=1)  # 200 of 250, at most 85 % of which are filled
    assert operator.picture().overview.limits.capacity_bytes_per_s == 250
    group.audit()


def test_a_paused_group_is_not_scaled_and_its_partitions_are_recovered(group: LiveGroup, operator: Operator) -> None:
    orders = group.topic("orders", 4)
    group.produce(orders)
    group.measure(dict.fromkeys(orders, 0.3))
    group.start_controller()
    group.settle(orders, consumers=2)
    operator.is_told("pause", "--for", "1h")
    paused = operator.picture().overview.paused
    assert paused is not None
    assert paused.reason == "a test"
    group.measure(dict.fromkeys(orders, 0.6))
    [first, *_] = group.running()
    before = group.running()[first]
    os.kill(before, signal.SIGKILL)
    group.produce(orders)
    group.eventually(lambda: group.running().get(first, before) != before)
    group.eventually(lambda: None not in operator.readers().values())
    group.eventually(lambda: len(group.stored()) == len(group.produced))
    assert len(group.running()) == 2
    operator.is_told("recommend", "on")
    operator.is_told("resume")
    group.eventually(lambda: any(each.recommended for each in operator.picture().overview.decisions))
    assert len(group.running()) == 2
    operator.is_told("consumers", "set", "most=3")
    operator.is_told("recommend", "off")
    group.settle(orders, consumers=3)
    operator.is_told("consumers", "set", "most=default")
    group.settle(orders, consumers=4)
    group.audit()


def test_a_consumer_is_restarted_once_and_a_partition_stays_where_it_is_moved(
    group: LiveGroup, operator: Operator
) -> None:
    orders = group.topic("orders", 4)
    group.produce(orders)
    group.measure(dict.fromkeys(orders, 0.3))
    group.start_controller()
    group.settle(orders, consumers=2)
    group.eventually(lambda: operator.picture().consumers[ConsumerId(1)].incarnation is not None)
    before, incarnation = group.running()[1], operator.picture().consumers[ConsumerId(1)].incarnation
    operator.is_told("restart", "1")
    group.eventually(lambda: group.running().get(1, before) != before)
    group.settle(orders, consumers=2)
    group.eventually(lambda: operator.picture().consumers[ConsumerId(1)].incarnation not in (None, incarnation))
    group.measure(dict.fromkeys(orders, 0.25))
    group.eventually(lambda: None not in operator.readers().values())
    readers = operator.readers()
    moved = next(partition for partition in orders if readers[partition] == 1)
    operator.is_told("move", str(moved), "2")
    group.eventually(lambda: operator.readers()[moved] == 2)
    assert set(operator.picture().overview.pins) == {moved}
    other = next(partition for partition in orders if operator.readers()[partition] == 1)
    group.measure({**dict.fromkeys(orders, 0.25), other: 0.8})
    group.settle(orders, consumers=2)
    refused = operator.says("move", str(other), "2", code=1)
    assert refused["outcome"] == "refused"
    assert "consumer 2 would be at " in refused["words"]
    operator.is_told("move", str(moved), "--unpin")
    group.produce(orders)
    group.audit()
