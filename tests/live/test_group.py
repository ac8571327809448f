"""The whole group with real processes: it grows, moves and shrinks, and nothing is lost or stored twice on the way."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from itertools import groupby

import pytest
from tests.support.live_groups import LiveGroup

from restow.cli import main
from restow.controller.effects import ListConsumers, Moved, Noted, Send
from restow.kafka.channels.status import StatusReader
from restow.model import SortedMapping, TopicPartition
from restow.picture.parts import Assembler
from restow.picture.picture import Picture
from restow.platform.interface import RestartConsumer
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.topic_service import TopicService
from restow.settings import read_settings

PATIENT = (60.0, 120.0, 30.0)
"""Long timeouts: consumers are restarted for new settings only, never for being slow."""


def with_variable(name: str, value: str) -> ConsumerSettings:
    return ConsumerSettings(env=SortedMapping({name: value}))


def test_it_grows_moves_and_shrinks_and_stores_everything_once(
    group: LiveGroup, capsys: pytest.CaptureFixture[str]
) -> None:
    orders = group.topic("orders", 4)
    group.produce(orders)
    group.measure(dict.fromkeys(orders, 0.1))
    group.start_controller()
    group.settle(orders, consumers=1)
    group.produce(orders)
    group.measure(dict.fromkeys(orders, 0.5))
    group.settle(orders, consumers=4)
    assert_status_shows(group, orders, 4, capsys)
    group.produce(orders)
    group.measure(dict.fromkeys(orders, 0.15))
    group.settle(orders, consumers=1)
    group.produce(orders)
    group.audit()


def assert_status_shows(
    group: LiveGroup, partitions: Sequence[TopicPartition], consumers: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everything that a person at another machine sees of the group is on the status topic."""
    with StatusReader(read_settings(group.config.read_text(), "restow.toml", {}), Assembler) as reader:

        def picture() -> Picture:
            found = reader.newest()
            assert found is not None
            return found

        group.eventually(lambda: len(picture().consumers) == consumers)
        group.eventually(lambda: all(status.consumer is not None for status in picture().partitions.values()))
        assert tuple(picture().partitions) == tuple(sorted(partitions))
        assert picture().overview.decisions[0].summary.startswith(f"1 -> {consumers} consumers")
        assert all(status.since is not None for status in picture().partitions.values())
    run = subprocess.run(
        [sys.executable, "-m", "restow", "status", "--config", str(group.config)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert f"group {group.name}  {consumers} of {consumers} consumers ready" in run.stdout
    assert main(["plan", "--json", "--config", str(group.config)]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["group"], plan["outage"], plan["moves"]) == (group.name, False, [])
    assert [each["before"] for each in plan["consumers"]] == [500.0] * consumers


def test_a_new_topic_is_added_during_a_move(group: LiveGroup) -> None:
    orders = group.topic("orders", 2)
    group.measure(dict.fromkeys(orders, 0.3))
    group.start_controller()
    group.settle(orders, consumers=1)
    group.measure(dict.fromkeys(orders, 0.6))
    group.eventually(lambda: group.stage() == "Manage")
    clicks = group.topic("clicks", 2)
    group.produce((*orders, *clicks))
    group.measure({**dict.fromkeys(orders, 0.6), **dict.fromkeys(clicks, 0.1)})
    group.settle((*orders, *clicks), consumers=2)
    group.audit()


def test_a_removed_topic_is_stopped_and_resumes_when_it_is_added_again(group: LiveGroup) -> None:
    orders, clicks = group.topic("orders", 2), group.topic("clicks", 2)
    both = (*orders, *clicks)
    group.produce(both)
    group.measure(dict.fromkeys(both, 0.1))
    group.start_controller()
    group.settle(both, consumers=1)
    group.update(ServiceUpdate("remove", clicks[0].topic))
    group.settle(orders, consumers=1)
    group.produce(both)
    group.update(ServiceUpdate("add", clicks[0].topic, TopicService(table=str(group.table))))
    group.settle(both, consumers=1)
    group.audit()


def test_a_hanging_consumer_is_restarted_and_then_replaced(group: LiveGroup) -> None:
    group.write_settings(silent_after_s=4, ready_within_s=12)
    orders = group.topic("orders", 4)
    group.produce(orders)
    group.measure(dict.fromkeys(orders, 0.4))
    group.start_controller()
    group.settle(orders, consumers=2)
    [hanging, *_] = group.running()
    os.kill(group.running()[hanging], signal.SIGSTOP)
    group.produce(orders)
    group.eventually(lambda: "restarting it" in group.controller_output(), within_s=60)
    group.settle(orders, consumers=2)
    group.audit()


def test_a_lost_volume_is_recovered_from_the_table(group: LiveGroup) -> None:
    orders = group.topic("orders", 4)
    group.produce(orders)
    group.measure(dict.fromkeys(orders, 0.4))
    group.start_controller()
    group.settle(orders, consumers=2)
    group.eventually(lambda: len(group.stored()) == len(group.produced))
    [first, *_] = group.running()
    before = group.running()[first]
    shutil.rmtree(group.volume(first), ignore_errors=True)
    os.kill(before, signal.SIGKILL)
    group.produce(orders)
    group.eventually(lambda: group.running().get(first, before) != before)
    group.settle(orders, consumers=2)
    group.audit()


def test_new_settings_restart_one_consumer_at_a_time_and_only_its_partitions_pause(group: LiveGroup) -> None:
    group.write_settings(*PATIENT)
    orders = group.topic("orders", 4)
    group.produce(orders)
    group.measure(dict.fromkeys(orders, 0.4))
    group.start_controller()
    group.settle(orders, consumers=2)
    before = group.running()
    held = {consumer: sorted(positions) for consumer, positions in group.saved().items()}
    group.update(ServiceUpdate("consumers", consumers=with_variable("GREETING", "hush-hush")))
    group.produce(orders)
    group.eventually(lambda: [group.variable(n, "GREETING") for n in before] == ["hush-hush"] * 2, within_s=60)
    group.settle(orders, consumers=2)
    assert {consumer: sorted(positions) for consumer, positions in group.saved().items()} == held
    steps = group.replayed()
    assert max(step.after.rolling for step in steps) == 1
    wishes = [effect for step in steps for effect in step.effects if not isinstance(effect, Moved | Noted)]
    first = next(number for number, wish in enumerate(wishes) if isinstance(wish, RestartConsumer))
    done = [(type(wish), wish.consumer) for wish in wishes[first:] if not isinstance(wish, ListConsumers)]
    assert [each for each, _ in groupby(done)] == [
        (kind, consumer) for consumer in before for kind in (RestartConsumer, Send)
    ]
    assert "consumer 2: restarting it (2 of 2): variables none -> GREETING" in group.controller_output()
    assert "hush-hush" not in group.controller_output() + group.log_text()
    group.audit()


def test_settings_that_prevent_start_up_cost_one_consumer_until_they_are_replaced(group: LiveGroup) -> None:
    group.write_settings(*PATIENT)
    orders = group.topic("orders", 4)
    group.produce(orders)
    group.measure(dict.fromkeys(orders, 0.4))
    group.start_controller()
    group.settle(orders, consumers=2)
    [_, second] = group.running()
    process = group.running()[second]
    group.update(ServiceUpdate("consumers", consumers=with_variable("PYTHONHOME", "/nowhere")))
    group.produce(orders)
    group.eventually(lambda: sorted(group.saved().get(second, ())) == list(orders), within_s=60)
    group.eventually(lambda: group.running() == {second: process})
    group.update(ServiceUpdate("consumers", consumers=with_variable("GREETING", "hello")))
    group.eventually(lambda: group.variable(second, "GREETING") == "hello", within_s=60)
    group.settle(orders, consumers=2)
    group.audit()


def test_restow_down_leaves_nothing_running(group: LiveGroup) -> None:
    orders = group.topic("orders", 2)
    group.measure(dict.fromkeys(orders, 0.6))
    controller = group.start_controller()
    group.settle(orders, consumers=2)
    command = [sys.executable, "-m", "restow", "down", "--config", str(group.config)]
    down = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "consumer" in down.stdout
    assert controller.wait(10) == 0
    assert group.running() == {}
    assert list((group.processes / f"{group.name}-metrics").iterdir()) == []


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_controller_leaves_its_consumers_running(group: LiveGroup, signal_number: signal.Signals) -> None:
    orders = group.topic("orders", 2)
    group.measure(dict.fromkeys(orders, 0.3))
    controller = group.start_controller()
    group.settle(orders, consumers=1)
    before = group.running()
    controller.send_signal(signal_number)
    assert controller.wait(30) == 0
    assert group.running() == before
    group.produce(orders)
    group.audit()


def test_the_least_number_of_consumers_is_kept_though_every_start_takes_too_long(group: LiveGroup) -> None:
    group.write_settings(ready_within_s=0.7)
    least = "[controller]\nleast_consumers = 2\ncreate_again_after_s = 1\n"
    group.config.write_text(group.config.read_text().replace("[controller]\n", least))
    orders = group.topic("orders", 4)
    group.produce(orders)
    group.measure(dict.fromkeys(orders, 0.3))
    group.start_controller()
    group.settle(orders, consumers=2)
    os.kill(list(group.running().values())[-1], signal.SIGKILL)
    group.produce(orders)
    group.eventually(lambda: len(group.running()) == 2)
    group.settle(orders, consumers=2)
    group.audit()
