"""Kubernetes, with pods that really run, fulfils the platform contract."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from lightkube import Client
from tests.support.kubernetes.cluster.control_plane import ControlPlane
from tests.support.kubernetes.cluster.node import Node
from tests.support.kubernetes.platforms import Eventually, KubernetesMaker
from tests.support.platform_contract import PlatformContract, PlatformMaker


class TestKubernetes(PlatformContract):
    @pytest.fixture
    def platform_maker(
        self, control_plane: ControlPlane, node: Node, namespace: str, client: Client, eventually: Eventually
    ) -> Iterator[PlatformMaker]:
        node.check()
        with ExitStack() as ending:
            yield KubernetesMaker(control_plane, namespace, client, eventually, ending)
