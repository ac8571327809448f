"""A whole group on a disk that fills up: it goes on, a controller and a consumer start on it, and nothing is doubled.

The table is on another disk.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import Eventually
from tests.support.live_groups import LiveGroup
from tests.support.small_disk import SmallDisk

from restow.controller.event_log import Step
from restow.controller.history import History, Remark
from restow.controller.segments import segments_in
from restow.kafka.admin import Admin
from restow.settings import Kafka


class GroupOnSmallDisk(LiveGroup):
    def written(self, table: Path) -> str:
        return str(table.parent.with_name(table.name))


@pytest.fixture
def group(kafka: Kafka, admin: Admin, prefix: str, disk: SmallDisk, eventually: Eventually) -> Iterator[LiveGroup]:
    group = GroupOnSmallDisk(kafka, admin, prefix, disk.path, eventually)
    group.table = Path(group.written(group.table))
    yield group
    disk.free()
    group.end()


def test_a_group_goes_on_and_starts_on_a_full_disk_and_writes_again_when_there_is_room(
    group: LiveGroup, disk: SmallDisk
) -> None:
    orders = group.topic("orders", 4)
    group.produce(orders)
    group.measure(dict.fromkeys(orders, 0.1))
    first = group.start_controller()
    group.settle(orders, consumers=1)
    disk.fill(disk.path / "controller-0.txt", *group.consumer_logs())
    group.produce(orders)
    group.audit()

    first.kill()
    first.wait(60)
    clicks = group.topic("clicks", 2)
    group.produce(clicks)
    group.measure(dict.fromkeys((*orders, *clicks), 0.1))
    second = group.start_controller()
    group.audit()  # the second controller has assigned the new topic

    killed = group.running()[1]
    os.kill(killed, signal.SIGKILL)
    group.produce((*orders, *clicks))
    group.audit()
    assert group.running().keys() == {1}
    assert group.running()[1] != killed
    assert second.poll() is None

    disk.free()
    group.measure(dict.fromkeys((*orders, *clicks), 0.25))
    group.settle((*orders, *clicks), consumers=2)
    group.produce((*orders, *clicks))
    group.audit()
    history = list(History([segment.path for segment in segments_in(group.log())]).steps())
    assert all(step.agrees for step in history if isinstance(step, Step))
    remarks = "\n".join(remark.words for remark in history if isinstance(remark, Remark))
    assert "events before this could not be written by controller" in remarks
    assert "the event log is written again; " in group.controller_output()
    assert "log lines before this one could not be written" in group.controller_output()
    assert "log lines before this one could not be written" in (group.volume(1) / "consumer.log").read_text()
