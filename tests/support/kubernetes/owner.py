"""A program of test_node.py: starts a cluster with a running pod, prints its directory, and waits to be killed."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from lightkube.models.core_v1 import Container
from tests.support.kubernetes.cluster.control_plane import ControlPlane
from tests.support.kubernetes.cluster.node import Node
from tests.support.kubernetes.cluster.tools import control_plane_tools, node_tools
from tests.support.kubernetes.pods import phase, pod


def main() -> None:
    tools = control_plane_tools()
    with ControlPlane(tools.hyperkube, tools.etcd) as control_plane, Node(control_plane, node_tools()) as node:
        control_plane.make_namespace("test")
        client = control_plane.admin("test")
        client.create(pod(Container(name="sleeps", image=node.busybox, command=["sleep", "1000"])))
        while phase(client, "sleeps") != "Running":
            time.sleep(0.1)
        print(control_plane.place.home, flush=True)
        time.sleep(1000)


if __name__ == "__main__":
    main()
