"""What `restow manifests` prints, what it refuses, and what a real API server makes of its output."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from lightkube import Client
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Namespace, Pod
from tests.support.kubernetes.printing import applied, manifests_of, printed

from restow import __version__

Eventually = Callable[..., None]

GOLDEN = Path(__file__).parent / "golden"
MODULES = {
    "orders.py": "from prices import in_euros\n\n\ndef orders(records):\n    return in_euros(records)\n",
    "prices.py": "def in_euros(records):\n    return records\n",
    "unused.py": "",
}
SMALL = """
[kafka]
bootstrap = "127.0.0.1:1"
[group]
name = "lake"
platform = "kubernetes"
[consumer]
image = "restow:1"
[consume.orders]
table = "s3://lake/orders"
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    """A restow.toml, with modules beside it."""
    for name, text in MODULES.items():
        (tmp_path / name).write_text(text)

    def write(text: str) -> Path:
        (tmp_path / "restow.toml").write_text(text)
        return tmp_path / "restow.toml"

    return write


Write = Callable[[str], Path]


def objects(text: str) -> dict[tuple[str, str], Any]:
    return {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(text)}


def refusal(config: Path) -> str:
    code, text, notes = printed(config)
    assert (code, text) == (2, "")
    return notes.removeprefix("restow: ").rstrip("\n")


def test_the_whole_output(write: Write) -> None:
    """After an intended change: `restow manifests --config …/golden/lake.toml`, with MODULES beside it."""
    text = manifests_of(write((GOLDEN / "lake.toml").read_text()))
    assert text.replace(f"restow {__version__}:", "restow VERSION:") == (GOLDEN / "lake.yaml").read_text()


def test_a_pod_monitor_is_printed_on_request_and_selects_what_the_service_selects(write: Write) -> None:
    config = write(SMALL)
    code, text, _ = printed(config, "--pod-monitor")
    assert code == 0
    found = objects(text)
    monitor, service = found["PodMonitor", "lake-metrics"], found["Service", "lake-metrics"]
    assert monitor["spec"] == {
        "selector": {"matchLabels": {"restow/group": "lake"}},
        "podMetricsEndpoints": [{"port": "metrics", "path": "/metrics"}],
    }
    assert service["spec"]["selector"] == {"restow/group": "lake"}
    assert ("PodMonitor", "lake-metrics") not in objects(manifests_of(config))
    for role in ("monitor", "controller"):
        [container] = found["Deployment", f"lake-{role}"]["spec"]["template"]["spec"]["containers"]
        assert container["ports"] == [{"name": "metrics", "containerPort": 9464, "protocol": "TCP"}]


def test_without_metrics_there_is_no_service(write: Write) -> None:
    text = manifests_of(write(SMALL + "[metrics]\nenabled = false\n"))
    assert ("Service", "lake-metrics") not in objects(text)


def test_the_page_is_printed_unless_it_is_switched_off(write: Write) -> None:
    found = objects(manifests_of(write(SMALL)))
    [container] = found["Deployment", "lake-page"]["spec"]["template"]["spec"]["containers"]
    assert container["args"][3:] == ["--host", "0.0.0.0", "--port", "8642", "--token-file", "/etc/restow-page/token"]
    [port] = found["Service", "lake-page"]["spec"]["ports"]
    assert [port["targetPort"]] == [each["name"] for each in container["ports"] if each["containerPort"] == 8642]
    assert found["Service", "lake-page"]["spec"]["selector"].items() <= (
        found["Deployment", "lake-page"]["spec"]["template"]["metadata"]["labels"].items()
    )
    off = manifests_of(write(SMALL + "[page]\nenabled = false\n"))
    assert "lake-page" not in off


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_output_is_the_same_on_every_machine(write: Write, seed: str) -> None:
    config = write((GOLDEN / "lake.toml").read_text())
    command = [sys.executable, "-m", "restow", "manifests", "--config", str(config)]
    environment = {**os.environ, "PYTHONHASHSEED": seed, "KAFKA_PASSWORD": "hunter2"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=config.parent)
    assert done.stdout == manifests_of(config)
    assert "hunter2" not in done.stdout


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            '[kafka]\nsasl.password = "hunter2"',
            (
                "[kafka] sasl.password has its value in the file, which anyone who may see the ConfigMap could read; "
                'write "${SASL_PASSWORD}", and give pods that variable from a Secret, as docs/kubernetes.md shows'
            ),
        ),
        (
            "[spark]\nspark.hadoop.fs.s3a.secret.key = 'hunter2'",
            (
                "[spark] spark.hadoop.fs.s3a.secret.key has its value in the file, which anyone who may see the "
                'ConfigMap could read; write "${SPARK_HADOOP_FS_S3A_SECRET_KEY}", and give pods that '
                "variable from a Secret, as docs/kubernetes.md shows"
            ),
        ),
        (
            "[[kubernetes.pod.spec.containers]]\nname = 'consumer'\nenv = [{ name = 'TOKEN', value = 'hunter2' }]",
            (
                "[kubernetes.pod] has a value for TOKEN, which anyone who may see pods could read; take it from a "
                'Secret: { name = "TOKEN", valueFrom = { secretKeyRef = { name = "…", key = "…" } } }'
            ),
        ),
        (
            "[kubernetes.pod.metadata]\nannotations = { who = '${WHO}' }",
            (
                "[kubernetes.pod] refers to ${WHO}, whose value anyone who may see pods could read; write the value "
                "itself if it is not secret, or take it from a Secret with valueFrom"
            ),
        ),
    ],
)
def test_secrets_are_refused(write: Write, more: str, message: str) -> None:
    text = SMALL.replace("[kafka]", more) if more.startswith("[kafka]") else SMALL + more
    config = write(text)
    assert refusal(config) == f"{config}: {message}"


def test_keys_that_only_sound_like_secrets_are_printed(write: Write) -> None:
    properties = """
        [spark]
        spark.hadoop.fs.s3a.aws.credentials.provider = "a.b.Provider"
        spark.hadoop.fs.s3a.secret.key = "${KEY}"
        [[kubernetes.pod.spec.containers]]
        name = "consumer"
        env = [{ name = "KEY", valueFrom = { secretKeyRef = { name = "s3", key = "secret" } } }]
    """
    assert printed(write(SMALL + properties)).code == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'platform = "kubernetes"',
            "",
            '{config}: [group] platform = "processes" has no manifests; write platform = "kubernetes"',
        ),
        (
            'image = "restow:1"',
            "",
            '[consumer] image is missing; name the image that consumers run, as image = "restow:0.1.0"',
        ),
        (
            '"restow:1"',
            '"${NO_SUCH_VARIABLE}"',
            '{config}: [consumer] image = "${{NO_SUCH_VARIABLE}}" can\'t be used; write the image out',
        ),
        (
            '[consume.orders]\ntable = "s3://lake/orders"',
            "",
            "{config}: there is nothing to consume; write a table [consume.TOPIC] for each topic",
        ),
        (
            "[consumer]",
            "[kubernetes]\nkubeconfig = '~/.kube/config'\n[consumer]",
            (
                "{config}: [kubernetes] kubeconfig is for a controller outside the cluster; one in a pod has its own "
                "credentials: leave it out"
            ),
        ),
        (
            "127.0.0.1:1",
            "${NO_SUCH_VARIABLE}",
            (
                '{config}: [kafka] bootstrap = "${{NO_SUCH_VARIABLE}}" can\'t be used; it must be one or more '
                "host:port, separated by commas; set the variable here too, or write its value out"
            ),
        ),
        (
            "127.0.0.1:1",
            "${NO_SUCH_VARIABLE}:9092",
            (
                "{config} refers to ${{NO_SUCH_VARIABLE}}, which pods wouldn't have; provide it from a Secret, in "
                '[[kubernetes.pod.spec.containers]]: name = "consumer" and '
                'envFrom = [{{ secretRef = {{ name = "…" }} }}]'
            ),
        ),
        (
            "[consumer]",
            "[kubernetes.pod.spec]\nnodeSelectr = { a = 'b' }\n[consumer]",
            "[kubernetes.pod] has spec.nodeSelectr, which is not a field of a pod template",
        ),
    ],
)
def test_settings_that_would_not_work_in_a_pod_are_refused_in_one_line(
    write: Write, old: str, new: str, message: str
) -> None:
    assert old in SMALL
    config = write(SMALL.replace(old, new))
    assert refusal(config) == message.format(config=config)


def test_a_group_without_a_namespace_gets_one_of_its_own(write: Write) -> None:
    found = objects(manifests_of(write(SMALL)))
    assert {thing["metadata"].get("namespace", name) for (_, name), thing in found.items()} == {"lake"}
    assert sorted(found) == [
        ("ConfigMap", "lake-config"),
        ("Deployment", "lake-controller"),
        ("Deployment", "lake-monitor"),
        ("Deployment", "lake-page"),
        ("Namespace", "lake"),
        ("PersistentVolumeClaim", "lake-controller"),
        ("Role", "lake-controller"),
        ("RoleBinding", "lake-controller"),
        ("Service", "lake-metrics"),
        ("Service", "lake-page"),
        ("ServiceAccount", "lake-controller"),
        ("ServiceAccount", "lake-monitor"),
        ("ServiceAccount", "lake-page"),
    ]


def test_modules_that_do_not_fit_into_a_config_map_belong_in_the_image(write: Write, tmp_path: Path) -> None:
    config = write(f'{SMALL}transform = "orders:orders"')
    assert list(objects(manifests_of(config))["ConfigMap", "lake-config"]["data"]) == [
        "orders.py",
        "prices.py",
        "restow.toml",
    ]
    (tmp_path / "prices.py").write_text("#" * 1_000_000)
    assert refusal(config) == (
        "prices.py and the files beside it are too large for a ConfigMap (1 MB); put modules in the image"
    )
    (tmp_path / "prices.py").write_text("def (")
    assert refusal(config).startswith(
        f"{tmp_path}/prices.py can't be read as a Python module: SyntaxError: invalid syntax"
    )


def test_a_table_beside_restow_toml_is_refused_because_pods_cannot_write_there(write: Write) -> None:
    config = write(SMALL.replace("s3://lake", "lake"))
    assert refusal(config) == (
        f'{config}: [consume.orders] table = "lake/orders" is relative to restow.toml, and pods can\'t write there; '
        "name a store, like s3://lake/orders, or the absolute path of a volume that [kubernetes.pod] mounts"
    )


def test_a_relative_path_of_a_property_is_pointed_out(write: Write) -> None:
    text = SMALL.replace("[kafka]", '[kafka]\n"ssl.ca.location" = "ca.pem"\n"ssl.key.location" = "/keys/key.pem"')
    assert printed(write(text)).notes == (
        'restow: [kafka] ssl.ca.location = "ca.pem" is relative to restow.toml, which is in /etc/restow in pods; put '
        "the file there, or mount a volume with it and write its absolute path\n"
    )


def test_another_restow_toml_restarts_the_controller_and_the_monitor(write: Write) -> None:
    def annotations(text: str) -> list[str]:
        found = objects(manifests_of(write(text)))
        pods = [found["Deployment", f"lake-{role}"]["spec"]["template"] for role in ("controller", "monitor")]
        return [pod["metadata"]["annotations"]["restow/config"] for pod in pods]

    one, other = annotations(SMALL), annotations(SMALL.replace("127.0.0.1:1", "127.0.0.1:2"))
    assert len({*one}) == len({*other}) == 1
    assert one != other
    assert annotations(SMALL) == one


def test_a_real_api_server_accepts_it(client: Client, namespace: str, write: Write, eventually: Eventually) -> None:
    text = (GOLDEN / "lake.toml").read_text().replace('"analytics"', f'"{namespace}"')
    text = text.replace('nodeSelector = { disk = "ssd" }', "")
    manifests = manifests_of(write(text))
    applied(client, manifests, dry_run=True)
    assert list(client.list(Deployment)) == []
    before = generations(applied(client, manifests))
    # From here on the namespace takes no pod that asks for more than it needs.
    restricted = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    client.patch(Namespace, namespace, restricted)
    components = {"lake-controller", "lake-monitor", "lake-page"}
    for name in sorted(components):
        client.patch(Deployment, name, {"spec": {"template": {"metadata": {"labels": {"again": "yes"}}}}})
    eventually(lambda: restarted(client) == components)
    # Applied once more, it changes nothing.
    assert generations(applied(client, manifests)) == {name: number + 1 for name, number in before.items()}


def generations(made: list[Any]) -> dict[str, int]:
    """The generation of a Deployment's spec."""
    return {thing.metadata.name: thing.metadata.generation for thing in made if thing.kind == "Deployment"}


def restarted(client: Client) -> set[str]:
    """The components that have pods."""
    return {str(pod.spec and pod.spec.serviceAccountName) for pod in client.list(Pod, labels={"again": "yes"})}
