"""What the process platform adds to the contract: consumers outlive controllers, are never confused, leave nothing."""

import dataclasses
import os
import random
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, cast

import pytest
from tests.platform.processes.conftest import GROUP, ProcessMaker, behaving
from tests.support.paths import ROOT
from tests.support.platform_contract import Watched

from restow.durable import locked_directory
from restow.errors import RestowError
from restow.model import ConsumerId
from restow.platform.interface import (
    ConsumerCrashed,
    ConsumerFailing,
    ConsumerGone,
    ConsumerUp,
    Listed,
    PlatformRefusal,
)
from restow.platform.processes.files import MARK, Home, Status
from restow.platform.processes.linux import Process, is_alive, marked, process, send
from restow.platform.processes.spawning import spawn

ONE = ConsumerId(1)
SOME = [ONE, ConsumerId(2), ConsumerId(3)]

OWNER = """
import os, pathlib, sys
from restow.platform.processes.platform import LocalProcesses
from tests.platform.processes.conftest import ProcessMaker

maker = ProcessMaker(pathlib.Path(sys.argv[1]), lambda condition: None)
platform = maker.make()
platform.create(1, maker.well)
print("created", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def watched(processes: ProcessMaker) -> Watched:
    return Watched(processes)


def home(processes: ProcessMaker, consumer: ConsumerId = ONE) -> Home:
    return Home(processes.directory / "run" / GROUP / f"{GROUP}-consumer-{consumer}")


def all_processes(processes: ProcessMaker, consumer: ConsumerId = ONE) -> tuple[Process, ...]:
    return marked(MARK, str(home(processes, consumer).path))


def supervisor_of(processes: ProcessMaker) -> Process:
    status = home(processes).status()
    assert status
    return status.supervisor


def orphan_of(processes: ProcessMaker) -> Process:
    """What a consumer with the behaviour "parent" started: a process with no ancestor but the supervisor."""
    file = processes.directory / "orphan"
    processes.advance(lambda: file.exists() and file.read_text())
    orphan = process(int(file.read_text()))
    assert orphan
    return orphan


def log(processes: ProcessMaker) -> str:
    return (processes.volume(ONE) / "consumer.log").read_text()


def test_consumers_outlive_their_controller_and_are_found_again(processes: ProcessMaker) -> None:
    command = [sys.executable, "-c", OWNER, str(processes.directory)]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as owner:
        assert owner.stdout
        assert owner.stdout.readline() == b"created\n"
        consumer = processes.until_works(ONE)
        owner.kill()
    assert os.getsid(consumer.pid) not in (os.getsid(0), owner.pid)
    successor = Watched(processes)
    assert successor.listed() == (Listed(ONE),)
    assert successor.platform.changes() == ()
    processes.crash(ONE)
    processes.until_works(ONE, instead_of=consumer)
    successor.until(lambda: ConsumerUp(ONE) in successor.reported)
    successor.platform.delete(ONE)
    successor.until(lambda: ConsumerGone(ONE) in successor.reported)
    assert [type(change) for change in successor.reported] == [ConsumerCrashed, ConsumerUp, ConsumerGone]


def test_a_consumer_whose_controller_died_before_starting_its_supervisor_gets_one_from_the_next(
    processes: ProcessMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Died(BaseException): ...

    def die(_: Path) -> None:
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr("restow.platform.processes.supervisors.spawn", die)
        with pytest.raises(Died):
            processes.make().create(ONE, processes.well)
    successor = Watched(processes)
    assert successor.listed() == (Listed(ONE),)
    successor.until_reported(ConsumerUp(ONE))


@pytest.mark.slow
def test_a_controller_may_be_killed_at_any_moment(processes: ProcessMaker) -> None:
    seeded = random.Random(7)
    for _ in range(20):
        controller = os.fork()
        if controller == 0:
            act_until_killed(processes, seeded)
        time.sleep(seeded.uniform(0.0, 0.1))  # the moment: nothing is waited for
        os.kill(controller, signal.SIGKILL)
        os.waitpid(controller, 0)
    successor = Watched(processes)
    wanted = [listed.consumer for listed in successor.platform.list() if not listed.leaving]
    for consumer in wanted:
        successor.until_works(consumer)
    successor.until(lambda: all(not listed.leaving for listed in successor.platform.list()))
    assert [listed.consumer for listed in successor.platform.list()] == wanted
    for consumer in SOME:
        # Each wanted consumer has a supervisor and its own process; the others have none.
        processes.advance(lambda: len(all_processes(processes, consumer)) == (2 if consumer in wanted else 0))  # noqa: B023  called at once


def act_until_killed(processes: ProcessMaker, seeded: random.Random) -> NoReturn:
    try:
        platform = processes.make()
        while True:
            consumer = seeded.choice(SOME)
            actions = (
                platform.create,
                platform.create,
                platform.restart,
                lambda consumer, _: platform.delete(consumer),
            )
            with suppress(PlatformRefusal):
                seeded.choice(actions)(consumer, processes.well)
            platform.changes()
    finally:
        os._exit(1)


def test_a_deletion_is_finished_without_any_controller(processes: ProcessMaker) -> None:
    platform = processes.make()
    platform.create(ONE, processes.stubborn)
    processes.until_works(ONE)
    platform.delete(ONE)
    processes.advance(lambda: not all_processes(processes))  # without any platform object at work
    assert processes.make().list() == ()


def test_a_deletion_is_finished_by_a_successor_when_the_supervisor_dies_too(processes: ProcessMaker) -> None:
    platform = processes.make()
    platform.create(ONE, behaving("parent", ORPHAN=str(processes.directory / "orphan")))
    processes.until_works(ONE)
    supervisor = supervisor_of(processes)
    send(supervisor, signal.SIGSTOP)
    platform.delete(ONE)
    send(supervisor, signal.SIGKILL)
    processes.advance(lambda: not is_alive(supervisor))
    successor = Watched(processes)
    assert successor.listed() == (Listed(ONE, leaving=True),), "the orphan is still there"
    successor.until_reported(ConsumerGone(ONE))
    assert all_processes(processes) == ()


def test_a_consumer_whose_supervisor_is_killed_dies_with_it_and_comes_back_with_another(
    processes: ProcessMaker, watched: Watched
) -> None:
    watched.platform.create(ONE, behaving("parent", ORPHAN=str(processes.directory / "orphan")))
    consumer = cast("Process", watched.until_works(ONE))
    orphan = orphan_of(processes)
    send(supervisor_of(processes), signal.SIGKILL)
    processes.advance(lambda: not is_alive(consumer))
    assert is_alive(orphan), "the kernel ends the consumer alone"
    watched.until_reported(
        ConsumerUp(ONE), ConsumerFailing(ONE, "its supervisor was killed by SIGKILL"), ConsumerUp(ONE)
    )
    assert not is_alive(orphan)


def test_a_consumer_that_ignores_sigterm_is_killed_after_its_grace_time(
    processes: ProcessMaker, watched: Watched
) -> None:
    watched.platform.create(ONE, processes.stubborn)
    watched.until_works(ONE)
    watched.platform.delete(ONE)
    watched.until_reported(ConsumerUp(ONE), ConsumerGone(ONE))
    assert "killing it: it still runs 0.5 s after SIGTERM" in log(processes)


@pytest.mark.parametrize("way", ["crash", "delete"])
def test_nothing_that_a_consumer_started_is_left_over(processes: ProcessMaker, watched: Watched, way: str) -> None:
    watched.platform.create(ONE, behaving("parent", ORPHAN=str(processes.directory / "orphan")))
    watched.until_works(ONE)
    orphan = orphan_of(processes)
    assert os.getsid(orphan.pid) == orphan.pid, "it has a session of its own, and another parent"
    if way == "crash":
        processes.crash(ONE)
        watched.until_crashed_and_up()
    else:
        watched.platform.delete(ONE)
        watched.until_reported(ConsumerUp(ONE), ConsumerGone(ONE))
        assert all_processes(processes) == ()
    assert not is_alive(orphan)


def test_the_reason_of_a_failure_has_no_secrets(processes: ProcessMaker, watched: Watched) -> None:
    watched.platform.create(ONE, processes.failing)
    watched.until(lambda: any(isinstance(change, ConsumerFailing) for change in watched.reported))
    assert ConsumerFailing(ONE, "it ended with exit code 1; its log ends: no table at ***") in watched.reported
    assert "hush-hush" not in (home(processes).path / "status.json").read_text()
    assert "hush-hush" not in repr(home(processes).desired())


def test_an_exit_with_code_0_without_being_asked_to_is_a_crash(watched: Watched) -> None:
    watched.platform.create(ONE, behaving("finished"))
    watched.until(lambda: any(isinstance(change, ConsumerFailing) for change in watched.reported))
    assert ConsumerFailing(ONE, "it ended with exit code 0 without being asked to") in watched.reported


def test_a_restart_forgets_earlier_crashes(processes: ProcessMaker, watched: Watched) -> None:
    watched.platform.create(ONE, processes.failing)
    watched.until(lambda: any(isinstance(change, ConsumerFailing) for change in watched.reported))
    watched.platform.restart(ONE, processes.well)
    watched.until_works(ONE)
    watched.until(lambda: (status := home(processes).status()) is not None and status.crashes == 0)


def test_a_missing_command_is_a_failure(processes: ProcessMaker) -> None:
    class Elsewhere(ProcessMaker):
        def command(self, *_: object) -> tuple[str, ...]:
            return ("no-such-program",)

    watched = Watched(Elsewhere(processes.directory, processes.advance))
    watched.platform.create(ONE, processes.well)
    watched.until(lambda: any(isinstance(change, ConsumerFailing) for change in watched.reported))
    [failing, *_] = [change for change in watched.reported if isinstance(change, ConsumerFailing)]
    assert failing.reason.startswith("it ended with exit code 127; its log ends: no-such-program can't be started in ")


def test_a_status_with_a_reused_pid_is_ignored(processes: ProcessMaker) -> None:
    platform = processes.make()
    platform.create(ONE, processes.well)
    processes.until_works(ONE)
    platform.delete(ONE)
    processes.advance(lambda: not all_processes(processes))
    desired = home(processes).desired()
    with subprocess.Popen(["sleep", "1000"]) as bystander:
        known = process(bystander.pid)
        assert known
        assert desired
        for forged in (known._replace(started=known.started - 1), known._replace(boot="another")):
            home(processes).path.mkdir(parents=True, exist_ok=True)
            home(processes).set_desired(desired)
            home(processes).set_status(Status(forged, forged))
            successor = processes.make()
            assert successor.list() == ()
            successor.delete(ONE)
            assert not home(processes).path.exists()
            send(forged, signal.SIGKILL)
        assert is_alive(known)
        bystander.kill()


def test_a_damaged_status_is_written_again_and_is_no_change(processes: ProcessMaker, watched: Watched) -> None:
    watched.platform.create(ONE, processes.well)
    watched.until_works(ONE)
    file = home(processes).path / "status.json"
    whole = file.read_text()
    file.write_text(whole[: len(whole) // 2])
    assert watched.listed() == (Listed(ONE),)
    watched.until(lambda: file.read_text() == whole)
    assert watched.reported == [ConsumerUp(ONE)]


def test_a_consumer_whose_desired_state_is_damaged_is_ended_and_gone(processes: ProcessMaker, watched: Watched) -> None:
    watched.platform.create(ONE, processes.well)
    consumer = cast("Process", watched.until_works(ONE))
    file = home(processes).path / "wish.json"
    file.write_text(file.read_text()[:-1])
    watched.until_reported(ConsumerUp(ONE), ConsumerGone(ONE))
    assert not is_alive(consumer)


def test_a_second_supervisor_finds_the_first_and_ends(processes: ProcessMaker, watched: Watched) -> None:
    watched.platform.create(ONE, processes.well)
    consumer = watched.until_works(ONE)
    second = spawn(home(processes).path)
    processes.advance(lambda: not second.is_running)
    assert second.failure() is None
    assert processes.process(ONE) == consumer
    assert watched.platform.changes() == ()


def test_a_change_is_refused_while_another_process_holds_the_lock(
    processes: ProcessMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("restow.platform.processes.supervisors.LOCKED_WITHIN_S", 0.05)
    platform = processes.make()
    with (
        locked_directory(home(processes).path, 0.0),
        pytest.raises(PlatformRefusal, match="a-consumer-1 is locked by another process"),
    ):
        platform.create(ONE, processes.well)
    platform.create(ONE, processes.well)


@pytest.mark.parametrize("keep", [True, False])
def test_a_volume_is_kept_unless_keep_volumes_is_off(processes: ProcessMaker, keep: bool) -> None:
    watched = Watched(ProcessMaker(processes.directory, processes.advance, keep_volumes=keep))
    watched.platform.create(ONE, processes.well)
    watched.until_works(ONE)
    watched.platform.delete(ONE)
    watched.until_reported(ConsumerUp(ONE), ConsumerGone(ONE))
    assert processes.volume(ONE).exists() == keep


def test_a_lost_volume_is_recreated(processes: ProcessMaker, watched: Watched) -> None:
    watched.platform.create(ONE, processes.well)
    consumer = watched.until_works(ONE)
    for file in processes.volume(ONE).iterdir():
        file.unlink()
    processes.volume(ONE).rmdir()
    watched.platform.restart(ONE, processes.well)
    watched.until_reported(ConsumerUp(ONE), ConsumerUp(ONE))
    watched.until_works(ONE, instead_of=consumer)


def restow_variables(consumer: Process) -> dict[str, str]:
    """The RESTOW_ variables of its environment."""
    entries = Path(f"/proc/{consumer.pid}/environ").read_text().split("\0")
    return dict(entry.split("=", 1) for entry in entries if entry.startswith("RESTOW_"))


def test_a_consumers_creation_survives_restarts_and_differs_from_the_next_ones(
    processes: ProcessMaker, watched: Watched
) -> None:
    watched.platform.create(ONE, processes.well)
    first = cast("Process", watched.until_works(ONE))
    creation = restow_variables(first)["RESTOW_CREATION"]
    watched.platform.restart(ONE, processes.well)
    second = processes.until_works(ONE, instead_of=first)
    assert restow_variables(second)["RESTOW_CREATION"] == creation
    watched.platform.delete(ONE)
    processes.advance(lambda: watched.platform.list() == ())
    watched.platform.create(ONE, processes.well)
    third = processes.until_works(ONE, instead_of=second)
    assert restow_variables(third)["RESTOW_CREATION"] != creation


def test_a_consumer_gets_its_name_memory_and_cores_and_is_bound_to_the_cores(
    processes: ProcessMaker, watched: Watched
) -> None:
    settings = dataclasses.replace(processes.well, memory_mb=700, cores=0.5)
    watched.platform.create(ONE, settings)
    consumer = cast("Process", watched.until_works(ONE))
    variables = restow_variables(consumer)
    assert variables.pop("RESTOW_CREATION")
    assert variables == {
        "RESTOW_CONSUMER": "a-consumer-1",
        "RESTOW_MEMORY_MB": "700",
        "RESTOW_CORES": "0.5",
        MARK: str(home(processes).path),
    }
    assert len(os.sched_getaffinity(consumer.pid)) == 1
    assert Path(f"/proc/{consumer.pid}/fd/0").readlink() == Path(os.devnull)


def test_only_the_owner_can_read_the_environment_of_a_consumer(processes: ProcessMaker, watched: Watched) -> None:
    watched.platform.create(ONE, processes.failing)
    for path in (home(processes).path, home(processes).path / "wish.json"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
    watched.platform.delete(ONE)
    assert not home(processes).path.exists() or "hush-hush" not in (home(processes).path / "wish.json").read_text()


def test_other_systems_than_linux_are_refused(processes: ProcessMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(RestowError, match="need Linux, and this is darwin"):
        processes.make()
