"""Controllers are killed or stopped at the worst moments: the next one repairs what they left and fences them."""

import os
import signal
import socket

import pytest
from confluent_kafka import TopicPartition as KafkaTopicPartition
from tests.support.live_groups import LiveGroup
from tests.support.paths import ROOT

from restow.kafka.clients import make_consumer
from restow.platform.processes.ending import end_group

CRASHING = ROOT / "tests" / "support" / "crashing_controller.py"
POINTS = (
    "Synchronize",
    "Sentinel",
    "Reassign, decided and nothing sent",
    "Reassign, intention committed and no consumer created",
    "Manage, consumers created",
    "Manage, commands sent",
    "Manage, in the middle",
)


@pytest.mark.parametrize("point", POINTS)
def test_the_next_controller_repairs_what_a_killed_one_left(
    group: LiveGroup, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = group.topic("orders", 4)
    group.produce(orders)
    group.measure(dict.fromkeys(orders, 0.1))
    first = group.start_controller()
    group.settle(orders, consumers=1)
    first.terminate()  # else it would get to the point at which the next one is killed
    assert first.wait(90) == 0
    group.measure(dict.fromkeys(orders, 0.4))
    monkeypatch.setenv("CRASH_AT", point)
    crashing = group.start_controller(program=CRASHING)
    assert crashing.wait(60) == -signal.SIGKILL
    group.produce(orders)
    group.start_controller()
    group.settle(orders, consumers=2)
    group.audit()


def test_a_second_controller_waits_until_the_first_ends_and_a_killed_one_is_succeeded_at_once(
    group: LiveGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    _no_silence_is_long_enough(group)
    orders = group.topic("orders", 4)
    group.produce(orders)
    group.measure(dict.fromkeys(orders, 0.1))
    first = group.start_controller()
    group.settle(orders, consumers=1)
    signs = group.directory / "signs"
    signs.mkdir()
    monkeypatch.setenv("RESTOW_SIGNS", str(signs))
    second = group.start_controller()
    monkeypatch.delenv("RESTOW_SIGNS")
    group.eventually(lambda: "standby: " in group.controller_output())
    assert f"-{first.pid} is in charge of this group" in group.controller_output()
    assert (signs / "ready").exists()
    steps = group.steps(controller=0)
    group.eventually(lambda: group.steps(controller=0) > steps)
    assert first.poll() is None
    assert group.steps(controller=1) == 0, "a standby has no events"
    first.terminate()
    assert first.wait(90) == 0
    group.settle(orders, consumers=1)
    assert f"took over group {group.name}: " in group.controller_output()
    assert f"-{first.pid} has ended" in group.controller_output()
    second.kill()
    second.wait(90)
    third = group.start_controller()
    group.settle(orders, consumers=1)
    assert f"-{second.pid} is dead" in group.controller_output()
    forced = group.start_controller("--take-over")
    assert third.wait(90) == 1
    assert f"-{forced.pid} has taken over this group" in group.controller_output(controller=2)
    group.settle(orders, consumers=1)
    group.produce(orders)
    group.audit()


def test_a_second_controller_in_another_directory_starts_no_second_set_of_consumers(group: LiveGroup) -> None:
    orders = group.topic("orders", 4)
    group.produce(orders)
    group.measure(dict.fromkeys(orders, 0.1))
    first = group.start_controller()
    group.settle(orders, consumers=1)
    consumers, here, there = group.running(), group.processes, group.directory / "elsewhere"
    group.processes = there
    group.write_settings()
    # A consumer that is short of CPU for a second or two is not silent.
    group.config.write_text(group.config.read_text().replace("report_every_s = 0.5", "report_every_s = 4"))
    group.start_controller()
    group.eventually(lambda: "standby: " in group.controller_output())
    first.terminate()
    assert first.wait(90) == 0
    group.eventually(lambda: f"this group has consumer 1 on {socket.gethostname()}:{here}" in group.controller_output())
    group.eventually(lambda: len(group.events("SpeedsMeasured")) > 10)
    assert group.stage() == "Synchronize"
    assert group.running() == consumers
    end_group(group.name, here, 10, lambda line: None)  # noqa: ARG005  no one reads the lines
    group.settle(orders, consumers=1)
    assert "consumers elsewhere: resolved" in group.controller_output()
    group.produce(orders)
    group.audit()


def test_a_stopped_and_replaced_controller_sends_nothing_deletes_nothing_and_exits(
    group: LiveGroup,
) -> None:
    orders = group.topic("orders", 4)
    group.produce(orders)
    group.measure(dict.fromkeys(orders, 0.1))
    first = group.start_controller()
    group.settle(orders, consumers=1)
    consumer = group.running()[1]
    os.kill(consumer, signal.SIGSTOP)  # without its answers Manage can't end
    group.measure(dict.fromkeys(orders, 0.4))
    group.eventually(lambda: len(group.running()) == 2 and group.stage() == "Manage")
    os.kill(first.pid, signal.SIGSTOP)
    os.kill(consumer, signal.SIGCONT)
    second = group.start_controller()
    group.settle(orders, consumers=2)
    assert f"-{first.pid} has been silent for 1" in group.controller_output()
    consumers, records = group.running(), _ends(group)
    os.kill(first.pid, signal.SIGCONT)
    assert first.wait(90) == 1
    assert "has taken over this group" in group.controller_output(controller=0)
    assert _ends(group) == records
    assert group.running() == consumers
    group.produce(orders)
    group.audit()
    assert group.stage() == "Sentinel"
    again = group.start_controller()  # as a supervisor would
    group.eventually(lambda: f"-{second.pid} is in charge of this group" in group.controller_output())
    again.terminate()
    assert again.wait(90) == 0
    assert second.poll() is None


def _no_silence_is_long_enough(group: LiveGroup) -> None:
    """A controller that gets no CPU for ten seconds is not succeeded."""
    words = group.config.read_text()
    group.config.write_text(words.replace("[controller]", "[controller]\ntake_over_after_s = 600"))


def _ends(group: LiveGroup) -> list[int]:
    """The end offsets of the consumers' partitions."""
    reader = make_consumer(group.kafka, {"group.id": "ends"})
    topic = f"{group.prefix}-controller"
    partitions = sorted(reader.list_topics(topic, timeout=30).topics[topic].partitions)
    ends = [
        reader.get_watermark_offsets(KafkaTopicPartition(topic, number), timeout=30)[1]
        for number in partitions
        if number
    ]
    reader.close()
    return ends
