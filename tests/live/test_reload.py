"""Changed transforms reach running consumers one after the other, and broken ones cost one consumer."""

import signal
import sqlite3

import pytest
from tests.support.live_groups import LiveGroup

from restow.cli.main import main
from restow.controller.events import Received
from restow.platform.interface import RestartConsumer
from restow.protocol.messages.consumer_events import StartConsumingEvent

PATIENT = (60.0, 120.0, 30.0)
"""Long timeouts: consumers are restarted for changed code only, never for being slow."""
VERSION = """\
def rows(records):
    return [record._replace(key=b"{version}") for record in records]
"""
BROKEN = """\
import json
import no_such_module
"""


class Shop:
    """A group of two consumers with a transform beside its restow.toml. It writes its version into each row's key."""

    def __init__(self, group: LiveGroup) -> None:
        self.group = group
        self.partitions = group.topic("orders", 4)
        group.write_settings(*PATIENT)
        text = group.config.read_text()
        group.config.write_text(text.replace("table = ", 'transform = "shop:rows"\ntable = ', 1))
        self.write(VERSION.format(version=1))
        group.measure(dict.fromkeys(self.partitions, 0.4))

    def write(self, source: str) -> None:
        (self.group.directory / "shop.py").write_text(source)

    def reload(self) -> int:
        return main(["reload", "--config", str(self.group.config)])

    def stores_with(self, version: int) -> None:
        """Asserts that new records are stored by this version only."""
        before = len(self.group.stored())
        self.group.produce(self.partitions)
        self.group.audit()
        assert self.versions()[before:] == [f"{version}"] * (len(self.group.stored()) - before)

    def versions(self) -> list[str]:
        with sqlite3.connect(f"file:{self.group.table}?mode=ro", uri=True, timeout=10) as database:
            return [bytes(key).decode() for (key,) in database.execute("SELECT key FROM records ORDER BY rowid")]

    def is_replaced(self, before: dict[int, int]) -> bool:
        now = self.group.running()
        return len(now) == len(before) and not set(now.values()) & set(before.values())


@pytest.fixture
def shop(group: LiveGroup) -> Shop:
    return Shop(group)


def test_changed_code_is_rolled_out_and_broken_code_costs_one_consumer(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    group = shop.group
    controller = group.start_controller()
    group.settle(shop.partitions, consumers=2)
    shop.stores_with(1)

    before = group.running()
    shop.write(VERSION.format(version=2))
    assert shop.reload() == 0
    assert f"the controller (process {controller.pid}) restarts consumers 1, 2 with code" in capsys.readouterr().out
    group.eventually(lambda: shop.is_replaced(before))
    group.settle(shop.partitions, consumers=2)
    assert story(group) == ["restarts 1", "1 starts", "restarts 2", "2 starts"]
    shop.stores_with(2)

    [_, second] = before = group.running()
    shop.write(BROKEN)
    assert shop.reload() == 0
    group.eventually(lambda: sorted(group.saved().get(second, ())) == list(shop.partitions))
    group.eventually(lambda: group.running() == {second: before[second]})
    said = group.controller_output()
    error = f"ModuleNotFoundError: No module named 'no_such_module' ({group.directory / 'shop.py'}, line 2"
    for line in ("consumer 1: can't run its code", "broken code: "):
        found = next((each for each in said.splitlines() if line in each), "")
        assert error in found, said
    shop.stores_with(2)

    # The next controller finds the code by itself.
    controller.send_signal(signal.SIGTERM)
    controller.wait(60)
    shop.write(VERSION.format(version=3))
    capsys.readouterr()
    assert shop.reload() == 0
    assert f"no controller of group {group.name} runs here; when one starts, it restarts" in capsys.readouterr().out
    group.start_controller()
    group.eventually(lambda: before[second] not in group.running().values())
    group.settle(shop.partitions, consumers=2)
    shop.stores_with(3)
    assert {"1", "2", "3"} == set(shop.versions())


def story(group: LiveGroup) -> list[str]:
    """The restarts of consumers, and when each of these read again, in order."""
    found: list[str] = []
    restarted: set[int] = set()
    for step in group.replayed():
        for effect in step.effects:
            if isinstance(effect, RestartConsumer):
                found.append(f"restarts {effect.consumer}")
                restarted.add(effect.consumer)
        heard = step.event.heard if isinstance(step.event, Received) else ()
        for message in (each.message for each in heard):
            if isinstance(message, StartConsumingEvent) and message.consumer in restarted:
                found.append(f"{message.consumer} starts")
                restarted.remove(message.consumer)
    return found
