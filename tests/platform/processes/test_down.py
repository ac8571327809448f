"""`restow down`: afterwards no process of the group runs on this machine."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.platform.processes.conftest import ProcessMaker, behaving

from restow.cli import main
from restow.model import ConsumerId
from restow.platform.processes.files import MARK
from restow.platform.processes.linux import marked, process
from restow.platform.processes.roles import Role, RunningRole, running_roles

ONE, TWO = ConsumerId(1), ConsumerId(2)

ROLE = """
import pathlib, signal, sys, time
from restow.platform.processes.roles import RunningRole

signal.signal(signal.SIGTERM, signal.SIG_IGN if sys.argv[3] == "stubborn" else lambda *_: sys.exit(0))
with RunningRole("a", pathlib.Path(sys.argv[1]), sys.argv[2]):
    print("working", flush=True)
    time.sleep(1000)
"""

Start = Callable[[str, str], "subprocess.Popen[str]"]


@pytest.fixture
def down(processes: ProcessMaker, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """Runs it and returns the lines it printed."""
    config = tmp_path / "restow.toml"
    config.write_text(f"""
        kafka.bootstrap = "127.0.0.1:9092"
        group.name = "a"
        consumer.grace_s = 0.5
        processes.directory = "{processes.directory}"
        """)

    def run(*arguments: str) -> list[str]:
        assert main(["down", "--config", str(config), *arguments]) == 0
        printed = capsys.readouterr()
        assert printed.err == ""
        return printed.out.splitlines()

    return run


@pytest.fixture
def start(processes: ProcessMaker) -> Iterator[Start]:
    """Starts a process with a role in the group; returns when it has recorded the role."""
    with ExitStack() as stack:

        def start(role: str, behaviour: str) -> "subprocess.Popen[str]":
            command = [sys.executable, "-c", ROLE, str(processes.directory), role, behaviour]
            started = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            stack.callback(started.kill)
            assert started.stdout
            assert started.stdout.readline() == "working\n"
            return started

        yield start


def test_it_ends_controllers_monitors_and_consumers_and_prints_each(
    processes: ProcessMaker, down: Callable[..., list[str]], start: Start
) -> None:
    controller, stopped = start("controller", "well"), start("controller", "stubborn")
    monitor = start("monitor", "well")
    stopped.send_signal(signal.SIGSTOP)
    platform = processes.make()
    platform.create(ONE, behaving("parent", ORPHAN=str(processes.directory / "orphan")))
    platform.create(TWO, processes.stubborn)
    for consumer in (ONE, TWO):
        processes.until_works(consumer)
    assert sorted(down()) == sorted(
        [
            f"ended controller (process {controller.pid})",
            f"ended controller (process {stopped.pid})",
            f"ended monitor (process {monitor.pid})",
            "ended a-consumer-1",
            "ended a-consumer-2",
        ]
    )
    assert [one.wait(0) for one in (controller, stopped, monitor)] == [0, -signal.SIGKILL, 0]
    for consumer in (ONE, TWO):
        assert marked(MARK, str(processes.directory / f"run/a/a-consumer-{consumer}")) == ()
    assert processes.make().list() == ()
    assert running_roles("a", processes.directory) == ()


UP_WITH_ROLES = """
import pathlib, signal, subprocess, sys, threading
from restow.platform.processes.roles import RunningRole

children = [
    subprocess.Popen([sys.executable, "-c", sys.argv[2], sys.argv[1], role, "well"], stdout=subprocess.PIPE)
    for role in ("monitor", "controller")
]
stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())
with RunningRole("a", pathlib.Path(sys.argv[1]), "up"):
    for child in children:
        child.stdout.readline()
    print("working", flush=True)
    while not stop.wait(0.05):
        if any(child.poll() is not None for child in children):
            sys.exit("a role was ended before restow up")
    for child in reversed(children):
        child.terminate()
        assert child.wait(60) == 0
"""


def test_it_ends_restow_up_first_which_ends_its_own_roles(
    processes: ProcessMaker, down: Callable[..., list[str]], start: Start
) -> None:
    other = start("controller", "well")
    command = [sys.executable, "-c", UP_WITH_ROLES, str(processes.directory), ROLE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as up:
        assert up.stdout
        assert up.stdout.readline() == "working\n"
        roles = {role.name: role for role in running_roles("a", processes.directory) if role.process.pid != other.pid}
        printed = down()
        assert up.wait(60) == 0
    assert printed[0] == f"ended restow up (process {up.pid})"
    assert sorted(printed[1:]) == sorted(
        f"ended {role}" for role in (roles["controller"], roles["monitor"], f"controller (process {other.pid})")
    )


def test_it_leaves_other_groups_and_without_the_option_volumes(
    processes: ProcessMaker, down: Callable[..., list[str]]
) -> None:
    processes.make().create(ONE, processes.well)
    other = processes.make("a-consumer-1")
    other.create(ONE, processes.well)
    processes.until_works(ONE)
    assert down() == ["ended a-consumer-1"]
    assert processes.volume(ONE).is_dir()
    assert down("--volumes") == [f"removed {processes.volume(ONE)}"]
    assert not processes.volume(ONE).exists()
    processes.advance(lambda: processes.volume(ONE, "a-consumer-1").is_dir())
    assert other.list() != ()


def test_it_works_when_nothing_runs(processes: ProcessMaker, down: Callable[..., list[str]]) -> None:
    for arguments in ((), ("--volumes",)):
        assert down(*arguments) == [f"nothing of group a runs in {processes.directory}"]
    assert not processes.directory.exists()


def test_a_failing_consumer_is_ended_too(processes: ProcessMaker, down: Callable[..., list[str]]) -> None:
    processes.make().create(ONE, processes.failing)
    assert down() == ["ended a-consumer-1"]
    assert down() == [f"nothing of group a runs in {processes.directory}"]


def test_a_role_is_recorded_while_it_runs(tmp_path: Path) -> None:
    with RunningRole("a", tmp_path, "monitor"), RunningRole("a", tmp_path, "controller"):
        assert [role.name for role in running_roles("a", tmp_path)] == ["controller", "monitor"]
        assert running_roles("b", tmp_path) == ()
    assert running_roles("a", tmp_path) == ()


def test_the_record_of_a_dead_role_is_ignored_and_removed(processes: ProcessMaker, start: Start) -> None:
    controller = start("controller", "well")
    known = process(controller.pid)
    assert known
    assert running_roles("a", processes.directory) == (Role("controller", known),)
    [record] = (processes.directory / "run/a/roles").iterdir()
    record.write_text(record.read_text().replace(str(known.started), str(known.started + 1)))
    assert running_roles("a", processes.directory) == ()
    assert list(record.parent.iterdir()) == []


def test_pods_are_left_alone_and_it_prints_how_to_delete_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "restow.toml"
    config.write_text('kafka.bootstrap = "127.0.0.1:9092"\ngroup.name = "a"\ngroup.platform = "kubernetes"\n')
    assert main(["down", "--config", str(config)]) == 0
    nothing, pods = capsys.readouterr().out.splitlines()
    assert nothing.startswith("nothing of group a runs in ")
    assert pods.startswith(
        "its consumers are pods and still run; end its controller, then delete them: kubectl delete "
    )
