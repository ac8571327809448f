"""The commands that change a group, with a real controller and real consumers: what it takes, what it does, and that
nothing is lost."""

import json
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
