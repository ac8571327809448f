"""Consumers as processes on a full disk: none is ended by it, they can be ended, and what was not written is later."""

import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.platform.processes.conftest import GROUP, Eventually, ProcessMaker
from tests.support.small_disk import SmallDisk

from restow.backoff import Backoff
from restow.model import ConsumerId
from restow.platform.interface import ConsumerGone, PlatformRefusal
from restow.platform.processes import logs as logs_module
from restow.platform.processes import roles as roles_module
from restow.platform.processes.ending import end_group
from restow.platform.processes.files import MARK, Home
from restow.platform.processes.linux import Process, is_alive, marked
from restow.platform.processes.logs import rotate
from restow.platform.processes.roles import RunningRole, running_roles

ONE, TWO = ConsumerId(1), ConsumerId(2)


@pytest.fixture
def processes(disk: SmallDisk, eventually: Eventually) -> Iterator[ProcessMaker]:
    maker = ProcessMaker(disk.path / "data", eventually)
    yield maker
    disk.free()
    end_group(GROUP, maker.directory, grace_s=0.0, progress=print)


def home(processes: ProcessMaker) -> Home:
    return Home(processes.directory / "run" / GROUP / f"{GROUP}-consumer-{ONE}")


def supervised(processes: ProcessMaker) -> tuple[Process, Process]:
    """A supervisor and the process of its consumer, when the status has both."""
    child = processes.until_works(ONE)
    processes.advance(lambda: (status := home(processes).status()) and status.child == child)
    status = home(processes).status()
    assert status
    return status.supervisor, child


def test_a_supervisor_outlives_a_full_disk_and_writes_then_what_happened(
    processes: ProcessMaker, disk: SmallDisk
) -> None:
    processes.make().create(ONE, processes.well)
    supervisor, first = supervised(processes)
    (processes.volume(ONE) / "process").unlink()
    log, supervisors_log = processes.volume(ONE) / "consumer.log", home(processes).path / "keeper.log"
    disk.fill(log, supervisors_log)
    os.kill(first.pid, signal.SIGKILL)
    tried: set[Process] = set()

    def has_failed_to_start_twice() -> bool:
        """The program writes a file at its start, which ends it here."""
        tried.update(set(marked(MARK, str(home(processes).path))) - {supervisor, first})
        return len(tried) >= 2

    processes.advance(has_failed_to_start_twice)
    assert is_alive(supervisor)
    assert (status := home(processes).status())
    assert status.child == first
    disk.free()
    again, second = supervised(processes)
    assert again == supervisor
    assert second != first
    processes.advance(lambda: "it was killed by SIGKILL; starting it again in 0.5 s" in log.read_text())
    said = [line for line in supervisors_log.read_text().splitlines() if line]
    assert len(said) == len(set(said)), "a condition that lasts is said once"


def test_a_consumer_is_deleted_on_a_full_disk(processes: ProcessMaker, disk: SmallDisk) -> None:
    platform = processes.make()
    platform.create(ONE, processes.well)
    _, child = supervised(processes)
    platform.changes()
    disk.fill()
    platform.delete(ONE)
    processes.advance(lambda: ConsumerGone(ONE) in platform.changes())
    assert not is_alive(child)
    assert platform.list() == ()


def test_a_consumer_that_a_full_disk_has_no_room_for_is_refused_and_can_be_created_later(
    processes: ProcessMaker, disk: SmallDisk
) -> None:
    platform = processes.make()
    platform.create(ONE, processes.well)
    supervised(processes)
    disk.fill()
    with pytest.raises(PlatformRefusal, match=rf"{GROUP}-consumer-2 can't be changed: .*No space left on device"):
        platform.create(TWO, processes.well)
    assert [listed.consumer for listed in platform.list()] == [ONE]
    platform.changes()
    disk.free()
    platform.create(TWO, processes.well)
    processes.until_works(TWO)


def test_a_role_works_without_its_record_until_there_is_room(
    processes: ProcessMaker, disk: SmallDisk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "restow")
    monkeypatch.setattr(roles_module, "RETRY", Backoff(first_s=0.0, longest_s=0.0))
    disk.fill()
    with RunningRole(GROUP, processes.directory, "monitor") as role:
        should_stop = role.while_recorded(lambda seconds: seconds > 0)
        assert [should_stop(0.0), should_stop(1.0)] == [False, True]
        assert running_roles(GROUP, processes.directory) == ()
        disk.free()
        should_stop(0.0)
        assert [found.name for found in running_roles(GROUP, processes.directory)] == ["monitor"]
        should_stop(0.0)
    record = processes.directory / "run" / GROUP / "roles" / f"monitor-{os.getpid()}.json"
    assert caplog.messages == [
        (
            f"{record} can't be written: No space left on device; until it can, `restow down` doesn't find this "
            "monitor; retrying"
        ),
        f"{record} is written; `restow down` finds this monitor",
    ]


def test_a_log_that_can_not_be_copied_is_emptied_and_its_length_returned(
    disk: SmallDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs_module, "LONGEST_BYTES", 100_000)
    log: Path = disk.path / "consumer.log"
    log.write_bytes(b"x" * 100_001)
    disk.fill()
    assert rotate(log) == 100_001
    assert log.read_bytes() == b""
    assert not (disk.path / "consumer.log.1").exists()
    assert rotate(log) == 0
