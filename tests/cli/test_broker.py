"""`restow broker`: prints its address, stops on a signal, and leaves nothing, however it ends."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from restow.kafka.admin import Admin
from restow.settings import Kafka

pytestmark = pytest.mark.kafka

Eventually = Callable[[Callable[[], object]], None]
COMMAND = (str(Path(sys.executable).with_name("restow")), "broker")


def processes_under(root: int) -> set[int]:
    """The descendants of a process."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
    found, frontier = set(), {root}
    while frontier := {child for child, parent in parents.items() if parent in frontier}:
        found |= frontier
    return found


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@contextmanager
def running(*arguments: str) -> "Iterator[tuple[subprocess.Popen[str], dict[str, str], set[int]]]":
    """The command, what it printed when it was ready, and all processes that it started."""
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        printed: dict[str, str] = {}
        while "data" not in printed:
            name, _, value = process.stdout.readline().partition(" ")
            assert name, process.stderr.read() if process.stderr else ""
            printed[name] = value.strip()
        yield process, printed, processes_under(process.pid)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("told_by", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_a_stop_signal_and_leaves_nothing(told_by: signal.Signals) -> None:
    with running() as (process, printed, started):
        with Admin(Kafka(printed["bootstrap"])) as admin:
            assert admin.cluster().nodes == (1,)
        log = Path(printed["log"])
        assert log.is_file()
        assert len(started) == 2
        process.send_signal(told_by)
        assert process.communicate(timeout=30) == ("", "")
        assert process.returncode == 0
        assert [one for one in started if is_alive(one)] == []
        assert not log.parent.parent.exists()


def test_when_it_is_killed_its_nodes_and_their_temporary_data_go_too(eventually: Eventually) -> None:
    with running() as (process, printed, started):
        process.kill()
        eventually(lambda: not any(is_alive(one) for one in started))
        eventually(lambda: not Path(printed["log"]).parent.parent.exists())


def test_a_port_and_a_directory_can_be_chosen(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with running("--port", str(port), "--data", str(tmp_path / "kept")) as (process, printed, _):
        assert printed["bootstrap"] == f"127.0.0.1:{port}"
        assert printed["data"] == str(tmp_path / "kept")
        taken = subprocess.run([*COMMAND, "--port", str(port)], capture_output=True, text=True, check=False)
        process.terminate()
        process.communicate(timeout=30)
    assert (taken.returncode, taken.stdout, taken.stderr) == (
        2,
        "",
        f"restow: port {port} of 127.0.0.1 is taken; stop what listens there, or choose another port\n",
    )
    assert (tmp_path / "kept" / "node-1" / "data").is_dir()


def test_without_java_the_error_names_what_to_install(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | {"PATH": str(tmp_path)}
    answer = subprocess.run(COMMAND, capture_output=True, text=True, env=environment, check=False)
    told = (
        "Java 17 or newer is needed and there is none in the PATH; install it: apt-get install openjdk-17-jre-headless"
    )
    assert (answer.returncode, answer.stdout, answer.stderr) == (1, "", f"restow: {told}\n")
