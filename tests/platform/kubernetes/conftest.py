"""A real Kubernetes for the tests of this folder, started when a test first asks for it, and a namespace for each test.

    def test_…(control_plane, namespace):        objects, rights, watches, claims: no pod ever runs
    def test_…(control_plane, node, namespace):  pods run on this machine, as containers

Each process that runs tests has its own. What can't be had on a machine is skipped, and says why (cluster/tools.py).
"""

import uuid
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from lightkube import Client
from lightkube.resources.core_v1 import Event, Pod
from tests.support.kubernetes.cluster.build import Unavailable
from tests.support.kubernetes.cluster.control_plane import ControlPlane
from tests.support.kubernetes.cluster.node import Node
from tests.support.kubernetes.cluster.tools import control_plane_tools, node_tools

LAST_LINES = 25


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """etcd, the API server with RBAC, controllers and scheduler. A test may restart the API server; it leaves it
    running. `admin(namespace)` is a client that may do anything, `service_account(name, namespace)` a kubeconfig of one
    that may do what its roles allow."""
    try:
        tools = control_plane_tools()
    except Unavailable as unavailable:
        pytest.skip(str(unavailable))
    with ControlPlane(tools.hyperkube, tools.etcd) as control_plane:
        yield control_plane


@pytest.fixture(scope="session")
def node(control_plane: ControlPlane) -> Iterator[Node]:
    """A kubelet that runs pods. They need `hostNetwork: true`, an image that is `node.busybox` or `node.restow`, and
    to run as `node.user` if they write to claims."""
    try:
        tools = node_tools()
    except Unavailable as unavailable:
        pytest.skip(str(unavailable))
    with Node(control_plane, tools) as node:
        yield node


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """Of the test's own, empty, and gone soon after it."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    control_plane.make_namespace(name)
    yield name
    control_plane.mend()
    control_plane.delete_namespace(name)


@pytest.fixture
def client(control_plane: ControlPlane, namespace: str) -> Iterator[Client]:
    """May do anything; speaks of the test's namespace unless told otherwise."""
    with control_plane.admin(namespace) as client:
        yield client


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With a failure: what happened in the namespace, and the last lines of every program's log."""
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
    except Exception as error:  # noqa: BLE001  whatever it is, it must not hide the failure that is told
        return f"the API server doesn't tell: {error!r}"
    return "\n".join([*pods, *events])


def _end_of(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-LAST_LINES:])
