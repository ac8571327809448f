"""The HTTP thread: what it answers, and what it survives."""

import http.client
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from restow.health import Health, Pulse
from restow.metrics.board import Board
from restow.metrics.server import MOST_REQUESTS, MetricsServer, application
from restow.metrics.targets import TargetFile, remove_dead

LOOPBACK = "127.0.0.1"
Eventually = Callable[[Callable[[], object]], None]


class Served:
    def __init__(self, health: Health, board: Board) -> None:
        self.health, self.board = health, board
        self.ports: list[int] = []
        self.server = MetricsServer(LOOPBACK, 0, application(board, health, 60.0, LOOPBACK), self.ports.append)

    def get(self, path: str, host: str = LOOPBACK) -> tuple[int, str]:
        connection = http.client.HTTPConnection(LOOPBACK, self.ports[0], timeout=60)
        try:
            connection.request("GET", path, headers={"Host": host})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()


@pytest.fixture
def served(eventually: Eventually) -> Iterator[Served]:
    served = Served(Health(), Board("monitor", "lake"))
    with served.server:
        eventually(lambda: served.ports)
        yield served


def test_a_process_is_alive_while_its_loop_turns(served: Served) -> None:
    assert served.get("/healthz")[0] == 200
    served.health.pulse = Pulse(time.monotonic() - 61, is_ready=True)
    assert served.get("/healthz") == (503, "the main loop has made no progress for 61 s\n")
    served.health.alive()
    assert served.get("/healthz")[0] == 200


def test_a_process_is_ready_from_its_first_work_to_its_end(served: Served) -> None:
    assert served.get("/readyz") == (503, "not ready: it is starting or ending\n")
    served.health.ready()
    assert served.get("/readyz") == (200, "ready\n")
    served.health.ending()
    assert served.get("/readyz")[0] == 503


def test_metrics_name_the_group_the_role_and_the_process(served: Served) -> None:
    status, text = served.get("/metrics")
    assert status == 200
    assert 'restow_build_info{group="lake",role="monitor",version="' in text
    assert 'restow_ready{group="lake",role="monitor"} 0.0' in text
    assert "process_resident_memory_bytes" in text


def test_the_age_of_the_loop_is_counted_when_it_is_read(served: Served) -> None:
    served.health.pulse = Pulse(time.monotonic() - 100, is_ready=False)
    [line] = [each for each in served.get("/metrics")[1].splitlines() if each.startswith("restow_loop_age_seconds{")]
    assert float(line.split()[-1]) >= 100


def test_other_paths_say_what_there_is(served: Served) -> None:
    assert served.get("/")[0] == 200
    status, text = served.get("/../../etc/passwd")
    assert (status, text.split()[0]) == (404, "/metrics")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.1:80", ""])
@pytest.mark.parametrize("path", ["/metrics", "/healthz"])
def test_a_name_that_was_rebound_to_loopback_gets_nothing(served: Served, host: str, path: str) -> None:
    status, text = served.get(path, host)
    assert (status, text) == (421, "ask for it by a name of this machine, like 127.0.0.1\n")


def test_a_loopback_name_with_or_without_a_port_is_answered(served: Served) -> None:
    assert [served.get("/healthz", host)[0] for host in ("localhost", "127.0.0.1:9", "[::1]:9")] == [200, 200, 200]


def test_idle_connections_take_no_more_than_their_share(served: Served, eventually: Eventually) -> None:
    """A client that says nothing is dropped; meanwhile further ones are closed, and afterwards all is well."""
    idle = [socket.create_connection((LOOPBACK, served.ports[0])) for _ in range(MOST_REQUESTS + 4)]
    threads = [thread for thread in threading.enumerate() if "process_request" in thread.name]
    assert len(threads) <= MOST_REQUESTS

    def is_answered() -> bool:
        try:
            return served.get("/healthz")[0] == 200
        except OSError:
            return False

    eventually(is_answered)
    for each in idle:
        each.close()


def test_a_port_in_use_is_said_once_and_retried(
    eventually: Eventually, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("restow.metrics.server.RETRY", _Soon())
    caplog.set_level("INFO", "restow")
    bound: list[int] = []
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]
        server = MetricsServer(
            LOOPBACK, port, application(Board("monitor", "lake"), Health(), 60, LOOPBACK), bound.append
        )
        with server:
            eventually(lambda: _Soon.asked > 3)
            taken.close()
            eventually(lambda: bound)
    assert bound == [port]
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert f"no metrics and no probes at {LOOPBACK}, port {port}: Address already in use" in caplog.messages[0]


class _Soon:
    asked = 0

    def pause_s(self, failures: int) -> float:
        type(self).asked = failures
        return 0.01


def test_a_target_file_names_the_process_and_goes_with_it(tmp_path: Path) -> None:
    file = TargetFile(tmp_path / "lake-metrics", Board("consumer", "lake", 3))
    file.write(LOOPBACK, 4711)
    [path] = (tmp_path / "lake-metrics").iterdir()
    assert path.name == f"lake-consumer-3-{os.getpid()}.json"
    assert path.read_text() == (
        '[{"targets": ["127.0.0.1:4711"], "labels": {"instance": "lake-consumer-3", "role": "consumer"}}]\n'
    )
    assert path.stat().st_mode & 0o777 == 0o644
    file.remove()
    assert list((tmp_path / "lake-metrics").iterdir()) == []


def test_files_of_dead_processes_are_removed_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    living = TargetFile(tmp_path, Board("monitor", "lake"))
    living.write(LOOPBACK, 1)
    (tmp_path / "controller-1.json").write_text("[]")
    (tmp_path / "notes.txt").write_text("not ours")
    remove_dead(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"lake-monitor-{os.getpid()}.json", "notes.txt"]
    living.remove()


def test_a_directory_that_can_t_be_written_costs_a_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    TargetFile(tmp_path / "file", Board("monitor", "lake")).write("::1", 1)
    [line] = caplog.messages
    assert line.endswith("Prometheus does not find this process by it, at http://[::1]:1/metrics")


def test_health_beats_without_a_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    health = Health()
    monkeypatch.setattr("restow.health.time.monotonic", lambda: 1e9)
    health.alive()
    assert health.pulse == Pulse(1e9, is_ready=False)
    assert health.pulse.age_s == 0
