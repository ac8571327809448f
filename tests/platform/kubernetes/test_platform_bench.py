"""`restow bench platform`: light consumers on both platforms, from accepted to ready to gone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from lightkube import Client
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, PersistentVolumeClaim, Pod
from tests.support.kubernetes.cluster.control_plane import ControlPlane
from tests.support.kubernetes.cluster.node import Node

from restow.cli.main import main
from restow.errors import InvalidInput
from restow.settings import Kafka

SETTINGS = """
[kafka]
bootstrap = "{bootstrap}"
[topics]
prefix = "{prefix}"
[group]
name = "bench"
platform = "kubernetes"
[consumer]
pipeline = "{pipeline}"
image = "{image}"
memory_mb = 256
grace_s = 10
[kubernetes]
kubeconfig = "{kubeconfig}"
namespace = "{namespace}"
access_mode = "ReadWriteOnce"
[kubernetes.pod.spec]
hostNetwork = true
[[kubernetes.pod.spec.containers]]
name = "consumer"
resources.requests = {{ cpu = "10m", memory = "64Mi" }}
"""


def test_it_measures_consumers_on_both_platforms_and_leaves_nothing(
    control_plane: ControlPlane,
    node: Node,
    namespace: str,
    client: Client,
    kafka: Kafka,
    prefix: str,
    tmp_path: Path,
) -> None:
    config = tmp_path / "restow.toml"
    config.write_text(
        SETTINGS.format(
            bootstrap=kafka.bootstrap,
            prefix=prefix,
            pipeline="light",
            image=node.restow,
            kubeconfig=control_plane.kubeconfig,
            namespace=namespace,
        )
    )
    read = {"restow.toml": config.read_text()}
    client.create(ConfigMap(metadata=ObjectMeta(name="bench-config"), data=read))
    command = (
        sys.executable,
        "-m",
        "restow",
        "bench",
        "platform",
        "--config",
        str(config),
        "--consumers",
        "2",
        "--json",
    )
    rows = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)["rows"]
    assert [(row["platform"], row["consumers"], row["requests_at_once"]) for row in rows] == [
        ("processes", 2, 1),
        ("kubernetes", 2, 16),
    ]
    for row in rows:
        assert row["first_accepted"] == 2
        assert 0 < row["first_accepted_s"] <= row["accepted_s"] < row["ready_s"]
        assert row["gone_s"] > 0
    left = [*client.list(Deployment), *client.list(Pod), *client.list(PersistentVolumeClaim)]
    assert left == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--platform kubernetes needs --config FILE, the settings of a group; see --help"),
        (
            ["--config", "restow.toml"],
            '[consumer] pipeline must be "light" here: this measures the platform, not Spark',
        ),
    ],
)
def test_missing_arguments_are_refused(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("restow.toml").write_text('[kafka]\nbootstrap = "k:9092"\n[group]\nname = "shop"\n')
    assert main(["bench", "platform", "--platform", "kubernetes", *arguments]) == InvalidInput.exit_code
    assert capsys.readouterr().err == f"restow: {message}\n"
