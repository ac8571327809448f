"""A real Kubernetes for these tests, started when a test first needs it, and a namespace for each test.

    def test_…(control_plane, namespace):        objects, permissions, watches, claims: no pod ever runs
    def test_…(control_plane, node, namespace):  pods run on this machine, as containers

Each test process has its own, which ends after the last test that asks for it: idle, it would take CPU from all tests
that follow. Where a machine can't run it, tests are skipped with the reason (cluster/tools.py).
"""

import uuid
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from lightkube import Client
from lightkube.resources.core_v1 import Event, Pod
from tests.support.go_programs import Unavailable
from tests.support.kubernetes.cluster.control_plane import ControlPlane
from tests.support.kubernetes.cluster.node import Node
from tests.support.kubernetes.cluster.tools import control_plane_tools, node_tools

LAST_LINES = 25
RUNNING: pytest.StashKey[ExitStack] = pytest.StashKey()
"""What ends the control plane, and the node before it."""


@pytest.fixture(scope="session")
def control_plane(pytestconfig: pytest.Config) -> Iterator[ControlPlane]:
    """etcd, the API server with RBAC, controllers and scheduler. A test that stops the API server starts it again.
    `admin(namespace)` returns a client with all permissions, `service_account(name, namespace)` a kubeconfig with those
    of a service account."""
    try:
        tools = control_plane_tools()
    except Unavailable as unavailable:
        pytest.skip(str(unavailable))
    with ExitStack() as running:
        pytestconfig.stash[RUNNING] = running
        yield running.enter_context(ControlPlane(tools.hyperkube, tools.etcd))


@pytest.fixture(scope="session")
def node(control_plane: ControlPlane, pytestconfig: pytest.Config) -> Node:
    """A kubelet that runs pods. They need `hostNetwork: true`, the image `node.busybox` or `node.restow`, and the user
    `node.user` if they write to claims."""
    try:
        tools = node_tools()
    except Unavailable as unavailable:
        pytest.skip(str(unavailable))
    return pytestconfig.stash[RUNNING].enter_context(Node(control_plane, tools))


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """An empty namespace, deleted after the test."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    control_plane.make_namespace(name)
    yield name
    control_plane.mend()
    control_plane.delete_namespace(name)


@pytest.fixture
def client(control_plane: ControlPlane, namespace: str) -> Iterator[Client]:
    """Has all permissions; its default namespace is the test's."""
    with control_plane.admin(namespace) as client:
        yield client


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """Ends the cluster after the last test that asks for it. They run in this order, all in one worker."""
    yield
    if (running := item.config.stash.get(RUNNING, None)) is not None and item == _last(item.session.items):
        running.close()


def _last(items: list[pytest.Item]) -> pytest.Item:
    return next(item for item in reversed(items) if "control_plane" in getattr(item, "fixturenames", ()))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds to a failure the events of the namespace and the last lines of every program's log."""
    report = yield
    arguments = getattr(item, "funcargs", {})
    control_plane, namespace = arguments.get("control_plane"), arguments.get("namespace")
    if report.failed and isinstance(control_plane, ControlPlane):
        if namespace is not None:
            report.sections.append((f"Kubernetes: {namespace}", _happened(control_plane, namespace)))
        report.sections += [(f"Kubernetes: {log.name}", _end_of(log)) for log in control_plane.logs]
    return report


def _happened(control_plane: ControlPlane, namespace: str) -> str:
    try:
        with control_plane.admin(namespace) as client:
            pods = [f"{pod.metadata and pod.metadata.name}: {pod.status}" for pod in client.list(Pod)]
            events = [
                f"{event.involvedObject.kind} {event.involvedObject.name}: {event.reason}: {event.message}"
                for event in client.list(Event)
            ]
    except Exception as error:  # noqa: BLE001  it must not hide the failure that is reported
        return f"the API server doesn't answer: {error!r}"
    return "\n".join([*pods, *events])


def _end_of(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-LAST_LINES:])
