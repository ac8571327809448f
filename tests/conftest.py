"""What tests of several folders share: a real Kafka, started when a test first asks for one, and patience.

A test that uses one of the fixtures in MARKERS gets the marker by itself; a test that starts such a server in another
way names its markers. `make quick` leaves out every test with a marker.
"""

import os
import time
import uuid
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests.support.examples import examples
from tests.support.shared_broker import EAGER, SharedBroker, delete_topics, shared_bootstrap
from tests.support.small_disk import SmallDisk, small_disk
from xdist.scheduler import LoadFileScheduling

from restow.kafka.admin import Admin
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.settings import Kafka

# Property tests must not depend on the machine's speed. The rest is Hypothesis' own profile, which CI has one of.
settings.register_profile(
    "any machine",
    settings(),
    max_examples=examples(settings().max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("any machine")

pytest.register_assert_rewrite("tests.support.platform_contract")  # before any folder's tests import it

MARKERS = {
    "broker": "kafka",
    "control_plane": "kubernetes",
    "kafka": "kafka",
    "object_store": "slow",
    "session": "spark",
}
"""By fixture: what a test that uses it needs."""

LONGEST_FIRST = ("kubernetes", "without a node", "spark")
"""Tests of the control plane alone come before tests that start a node, which would run their pods."""
FILE_S = 30
"""What a file with a marker takes, about; one without takes a second."""
BROKERS_UNTIL = 0.85
"""Of the time without Spark and Kubernetes: then tests that compute fill the end."""

ONE_WORKER = "tests/platform/kubernetes"
"""All tests of this folder run in one worker, one after the other: a second control plane would cost more than it
saves."""

SHARED: pytest.StashKey[SharedBroker | None] = pytest.StashKey()
BROKER = "broker"
"""In a worker's input: how to reach the shared broker."""

SHORTEST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 0.5
PAUSE_PER_CPU_S = 15.0
"""A test that waits takes a sixteenth of a core at most."""

Eventually = Callable[[Callable[[], object]], None]


class ByFileOrFolder(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Keeps the tests of a file in one worker, so that what they share is started once."""

    def _split_scope(self, nodeid: str) -> str:
        return ONE_WORKER if nodeid.startswith(f"{ONE_WORKER}/") else str(super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFileOrFolder:
    return ByFileOrFolder(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests by their fixtures, and puts the files that take longest first: the short ones then fill the end,
    where otherwise workers wait for the last."""
    for item in items:
        for fixture in sorted(MARKERS.keys() & set(getattr(item, "fixturenames", ()))):
            item.add_marker(MARKERS[fixture])
    needs: dict[Path, set[str]] = {}
    for item in items:
        needs.setdefault(item.path, set()).update(mark.name for mark in item.iter_markers())
    nodes = {item.path for item in items if "node" in getattr(item, "fixturenames", ())}
    for path in needs.keys() - nodes:
        needs[path].add("without a node")
    places = _side_by_side({path: marks for path, marks in needs.items() if not marks & {"kubernetes", "spark"}})
    items.sort(key=lambda item: (*(name not in needs[item.path] for name in LONGEST_FIRST), places.get(item.path, 0.0)))


def _side_by_side(needs: dict[Path, set[str]]) -> dict[Path, float]:
    """The place of each file in the order, from 0 to 1. Tests with a broker wait for more than half of their time. They
    are spread among tests that compute, which use the cores meanwhile."""
    computing = sorted(
        (path for path in needs if "kafka" not in needs[path]), key=lambda path: "slow" not in needs[path]
    )
    with_broker = [path for path in needs if "kafka" in needs[path]]
    places: dict[Path, float] = {}
    for files, until in ((computing, 1.0), (with_broker, BROKERS_UNTIL)):
        ends_s = list(accumulate(FILE_S if needs[path] & {"kafka", "slow"} else 1 for path in files))
        places.update((path, until * end_s / ends_s[-1]) for path, end_s in zip(files, ends_s, strict=True))
    return places


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """In the main process, for each worker."""
    shared = node.config.stash.setdefault(SHARED, None) or SharedBroker()
    node.config.stash[SHARED] = shared
    node.workerinput[BROKER] = shared.address


def pytest_unconfigure(config: pytest.Config) -> None:
    if shared := config.stash.get(SHARED, None):
        shared.close()


@pytest.fixture(scope="session")
def kafka(request: pytest.FixtureRequest) -> Iterator[Kafka]:
    """One broker of one node for the whole session. Leave it running and as it is: tests have topics of their own."""
    of_worker = getattr(request.config, "workerinput", None)
    if of_worker is not None:
        yield Kafka(shared_bootstrap(of_worker[BROKER]))
        return
    with EmbeddedKafka(server=EAGER) as broker:
        yield Kafka(broker.bootstrap)


@pytest.fixture(scope="session")
def admin(kafka: Kafka) -> Iterator[Admin]:
    with Admin(kafka) as client:
        yield client


@pytest.fixture
def prefix(request: pytest.FixtureRequest) -> Iterator[str]:
    """What the names of a test's own topics start with. They are deleted after a test that uses the shared broker."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    kafka: Kafka | None = request.getfixturevalue("kafka") if "admin" in request.fixturenames else None
    yield name
    if kafka is not None:
        delete_topics(kafka, name)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A real file system of a few megabytes, to be filled."""
    with small_disk(tmp_path / "disk") as disk:
        yield disk


@pytest.fixture(scope="session")
def eventually() -> Eventually:
    """Looks often at what is cheap to look at. What costs CPU, like reading a table, is looked at more rarely: it would
    take a core from the processes that the test waits for."""

    def wait(condition: Callable[[], object], within_s: float = 120.0) -> None:
        deadline = time.monotonic() + within_s
        before_s = _cpu_s()
        while not condition():
            assert time.monotonic() < deadline, f"not within {within_s:g} s"
            time.sleep(min(LONGEST_PAUSE_S, max(SHORTEST_PAUSE_S, PAUSE_PER_CPU_S * (_cpu_s() - before_s))))
            before_s = _cpu_s()

    return wait


def _cpu_s() -> float:
    """Of this process, and of its children that have ended."""
    return sum(os.times()[:4])
