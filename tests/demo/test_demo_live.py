"""`restow demo` live: a whole group, audited; however it ends, nothing is left running."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from restow.demo.group import GROUP
from restow.platform.processes.files import MARK
from restow.platform.processes.linux import Process, descendants, is_alive, marked

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

Eventually = Callable[..., None]

KEYS = [
    *("produced", "stored", "lost", "doubled", "consumers_min", "consumers_max", "consumers_mean", "moves"),
    *("pause_p50_s", "pause_p99_s", "latency_p50_s", "latency_p99_s", "kills"),
]


class Demo:
    """A running demonstration with a known data directory."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self.data, self._out, self._told = directory / "data", directory / "out.json", directory / "told.txt"
        command = [sys.executable, "-m", "restow", "demo", "--headless", "--json", "--data", str(self.data)]
        with self._out.open("wb") as out, self._told.open("wb") as told:
            self.process = subprocess.Popen([*command, *arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=told)

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def told(self) -> str:
        return self._told.read_text()

    def started(self) -> tuple[Process, ...]:
        """Its broker, roles and consumers so far; consumers are not its children."""
        homes = self.data / "processes" / "run" / GROUP
        consumers = [one for home in homes.glob(f"{GROUP}-consumer-*") for one in marked(MARK, str(home))]
        return (*descendants(self.process.pid), *consumers)


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Callable[..., Demo]]:
    running: list[Demo] = []

    def start(*arguments: str) -> Demo:
        running.append(Demo(tmp_path, *arguments))
        return running[-1]

    yield start
    for each in running:
        each.process.kill()
        each.process.wait()


def test_a_group_grows_under_load_survives_a_kill_and_shrinks_and_no_record_is_lost_or_doubled(
    demo: Callable[..., Demo], eventually: Eventually
) -> None:
    run = demo("--for", "30s")
    eventually(lambda: "accident: " in run.told or run.process.poll() is not None, within_s=600)
    started = run.started()
    assert run.process.wait(600) == 0, run.told
    outcome = json.loads(run.out)
    assert list(outcome) == KEYS
    assert (outcome["lost"], outcome["doubled"], outcome["kills"]) == (0, 0, 1), run.told
    assert outcome["stored"] == outcome["produced"] > 1000
    assert outcome["consumers_min"] in (1, 2), "one at work; its spare may come a moment later"
    assert outcome["consumers_max"] == 3, run.told
    assert outcome["moves"] >= 2, "to the spare, and back"
    assert 0 < outcome["pause_p50_s"] <= outcome["pause_p99_s"]
    assert 0 < outcome["latency_p50_s"] <= outcome["latency_p99_s"]
    assert len(started) >= 8, "a broker, two roles, and consumers, each with its supervisor"
    assert [process for process in started if is_alive(process)] == []
    assert f"the page's last picture is {run.data / 'picture.json'}; " in " ".join(run.told.split())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_however_it_ends_nothing_is_left_running(
    number: signal.Signals, code: int, demo: Callable[..., Demo], eventually: Eventually
) -> None:
    run = demo("--for", "10m")
    eventually(lambda: any(b"SparkSubmit" in _command(each) for each in run.started()), within_s=300)
    started = run.started()
    run.process.send_signal(number)
    run.process.send_signal(number)  # a second signal changes nothing
    assert run.process.wait(120) == code, run.told
    eventually(lambda: not any(is_alive(process) for process in started), within_s=120)
    if number is signal.SIGINT:
        assert run.told.splitlines()[-2:] == [run.told.splitlines()[-2], "restow: interrupted"]
        assert "interrupted; everything has been stopped" in run.told.splitlines()[-2]
    assert run.out == ""


def test_without_java_the_error_names_what_to_install(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "restow", "demo", "--json"],
        env={**os.environ, "JAVA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.splitlines() == [
        (
            f"restow: Java 17 or newer is needed and there is none in JAVA_HOME={tmp_path}; "
            "install it: apt-get install openjdk-17-jre-headless"
        )
    ]


def _command(process: Process) -> bytes:
    try:
        return Path(f"/proc/{process.pid}/cmdline").read_bytes()
    except OSError:
        return b""
