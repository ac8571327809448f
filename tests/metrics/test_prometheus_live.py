"""A running group, scraped by a real Prometheus: it finds every process by its file, and every query of the dashboard
and of the alerts has an answer."""

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from tests.support.live_groups import Eventually, LiveGroup
from tests.support.paths import ROOT
from tests.support.prometheus import Prometheus, programs, prometheus

from restow.kafka.admin import Admin
from restow.model import TopicPartition
from restow.settings import Kafka

RULES = ROOT / "deploy" / "prometheus" / "rules.yml"
DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "restow.json").read_text())
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]


@pytest.fixture
def group(kafka: Kafka, admin: Admin, prefix: str, tmp_path: Path, eventually: Eventually) -> Iterator[LiveGroup]:
    group = LiveGroup(kafka, admin, prefix, tmp_path, eventually)
    yield group
    group.end()


@contextmanager
def produced_to(group: LiveGroup, partitions: tuple[TopicPartition, ...]) -> Iterator[None]:
    """Each partition is written faster than a consumer's capacity, so that there are two consumers, lag and a flag."""
    is_enough = threading.Event()

    def produce() -> None:
        while not is_enough.wait(0.05):
            group.produce(partitions, each=5)

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        yield
    finally:
        is_enough.set()
        thread.join()


def targets(group: LiveGroup) -> dict[str, str]:
    """The address of each process, by its file."""
    found = {}
    for file in sorted((group.processes / f"{group.name}-metrics").glob("*.json")):
        [target] = json.loads(file.read_text())
        found[file.name.removeprefix(f"{group.name}-")] = target["targets"][0]
    return found


def files_of(group: LiveGroup, process: str) -> list[str]:
    return [name for name in targets(group) if name.startswith(f"{process}-")]


def as_here(query: str, group: LiveGroup) -> str:
    """With Grafana's variables filled in."""
    variables = {"$namespace": ".*", "$group": group.name, "$__rate_interval": "1m", "$__range": "1m"}
    for name, value in variables.items():
        query = query.replace(name, value)
    assert "$" not in query
    return query


def test_prometheus_finds_every_process_and_answers_every_query(
    group: LiveGroup, tmp_path: Path, eventually: Eventually
) -> None:
    _, promtool = programs()
    orders = group.topic("orders", 2)
    command = [sys.executable, "-m", "restow", "monitor", "--config", str(group.config)]
    with (tmp_path / "monitor.txt").open("wb") as output:
        monitor = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        controller = group.start_controller()
        settings = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(RULES)],
            "scrape_configs": [
                {
                    "job_name": "restow",
                    "scrape_timeout": "1s",
                    "file_sd_configs": [
                        {"files": [f"{group.processes}/{group.name}-metrics/*.json"], "refresh_interval": "1s"}
                    ],
                }
            ],
        }
        with prometheus(tmp_path, settings) as server, produced_to(group, orders):
            eventually(lambda: roles_up(server) == ["consumer", "consumer", "controller", "monitor"])
            for query in QUERIES:
                eventually(partial(server.query, as_here(query, group)))
            eventually(lambda: all(rule["health"] != "unknown" for rule in server.rules()))
            assert [rule for rule in server.rules() if rule["health"] != "ok"] == []
            for address in targets(group).values():
                assert promtool_says(promtool, address) == ""
            a_killed_consumer_continues_its_series(group, server, eventually)
            controller.terminate()
            eventually(lambda: files_of(group, "controller") == [])
            assert len(files_of(group, "monitor")) == 1
    finally:
        monitor.terminate()
        monitor.wait(60)
    assert files_of(group, "monitor") == []
    assert len(files_of(group, "consumer")) == 2


def roles_up(server: Prometheus) -> list[str]:
    """The role of each target, if all of them are up."""
    found = server.query("up")
    return sorted(labels["role"] for labels, _ in found) if all(value == 1 for _, value in found) else []


def promtool_says(promtool: str, address: str) -> str:
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as answer:
        text = answer.read()
    done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, check=False)
    return str((done.stdout + done.stderr).decode())


def a_killed_consumer_continues_its_series(group: LiveGroup, server: Prometheus, eventually: Eventually) -> None:
    """Its file is replaced by that of the next process, which has the same name for Prometheus and another port."""
    [before] = files_of(group, "consumer-1")
    instance = f'{{instance="{group.name}-consumer-1"}}'
    [(_, started)] = server.query(f"process_start_time_seconds{instance}")
    os.kill(group.running()[1], signal.SIGKILL)

    def is_back() -> bool:
        found = server.query(f"process_start_time_seconds{instance} and on (instance) up{instance} == 1")
        return [value > started for _, value in found] == [True]

    eventually(is_back)
    eventually(lambda: len(files_of(group, "consumer-1")) == 1)
    assert files_of(group, "consumer-1") != [before]
    eventually(lambda: server.query("sum(restow_consumer_restarts_total)")[0][1] >= 1)
