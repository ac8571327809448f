"""A consumer's Kubernetes objects, every field, and how [kubernetes.pod] is merged into them."""

from typing import Any

import pytest

from restow.errors import InvalidInput
from restow.model import ConsumerId, SortedMapping
from restow.platform.kubernetes.objects import claim, deployment, digest
from restow.protocol.consumer_settings import ConsumerSettings
from restow.settings import Settings, read_settings

THREE = ConsumerId(3)
IMAGE = '[consumer]\nimage = "restow:1"\n'


def settings(text: str = "", consumer: str = IMAGE) -> Settings:
    return read_settings(f'[kafka]\nbootstrap = "k:9092"\n[group]\nname = "lake"\n{consumer}{text}', "restow.toml", {})


def made(text: str = "", wanted: ConsumerSettings | None = None, consumer: str = IMAGE) -> dict[str, Any]:
    wanted = wanted or ConsumerSettings()
    return deployment(settings(text, consumer), THREE, wanted, "c0ffee", "f00d").to_dict()


def pod(text: str = "", wanted: ConsumerSettings | None = None, consumer: str = IMAGE) -> dict[str, Any]:
    template: dict[str, Any] = made(text, wanted, consumer)["spec"]["template"]
    return template


def container(text: str = "", wanted: ConsumerSettings | None = None) -> dict[str, Any]:
    [found] = [each for each in pod(text, wanted)["spec"]["containers"] if each["name"] == "consumer"]
    assert isinstance(found, dict)
    return found


def environment(text: str = "", wanted: ConsumerSettings | None = None) -> dict[str, str]:
    """Those with a value; the others come from labels."""
    return {each["name"]: each["value"] for each in container(text, wanted)["env"] if "value" in each}


SCRAPED = {"prometheus.io/scrape": "true", "prometheus.io/port": "9464", "prometheus.io/path": "/metrics"}
LABELS = {
    "app.kubernetes.io/name": "restow",
    "app.kubernetes.io/component": "consumer",
    "app.kubernetes.io/instance": "lake",
    "app.kubernetes.io/managed-by": "restow",
    "restow/group": "lake",
    "restow/consumer": "3",
    "restow/name": "lake-consumer-3",
}


def test_a_consumer_is_a_deployment_of_one_pod_that_ends_before_the_next_starts() -> None:
    whole = made()
    template = whole["spec"].pop("template")
    assert whole == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "lake-consumer-3",
            "labels": {**LABELS, "restow/creation": "c0ffee"},
            "annotations": {
                "restow/settings": ConsumerSettings().fingerprint,
                "restow/template": digest(settings()),
            },
        },
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "revisionHistoryLimit": 0,
            "selector": {"matchLabels": {"restow/group": "lake", "restow/consumer": "3", "restow/creation": "c0ffee"}},
        },
    }
    assert template["metadata"] == {
        "labels": {**LABELS, "restow/creation": "c0ffee"},
        "annotations": {**SCRAPED, "restow/restarted": "f00d"},
    }


def test_its_pod_has_its_volumes_and_no_privileges() -> None:
    spec = pod()["spec"]
    del spec["containers"]
    assert spec == {
        "volumes": [
            {"name": "config", "configMap": {"name": "lake-config"}},
            {"name": "volume", "persistentVolumeClaim": {"claimName": "lake-consumer-3"}},
            {"name": "scratch", "emptyDir": {"sizeLimit": "4Gi"}},
            {"name": "signs", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
        ],
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 35,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 10001,
            "runAsGroup": 10001,
            "fsGroup": 10001,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }


def test_its_container_gets_its_name_by_the_downward_api_and_has_probes() -> None:
    def from_label(variable: str, label: str) -> dict[str, Any]:
        return {"name": variable, "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{label}']"}}}

    def probe(path: str) -> dict[str, Any]:
        return {"httpGet": {"path": path, "port": "metrics"}, "timeoutSeconds": 10, "failureThreshold": 3}

    amounts = {"cpu": "1000m", "memory": "1536Mi"}
    assert container() == {
        "name": "consumer",
        "image": "restow:1",
        "command": ["restow"],
        "args": [
            *("consumer", "--config", "/etc/restow/restow.toml"),
            *("--name", "$(RESTOW_CONSUMER)", "--volume", "/var/lib/restow"),
        ],
        "env": [
            {"name": "HOME", "value": "/tmp"},
            from_label("RESTOW_CONSUMER", "restow/name"),
            from_label("RESTOW_CREATION", "restow/creation"),
            {"name": "RESTOW_CORES", "value": "1"},
            {"name": "RESTOW_MEMORY_MB", "value": "1536"},
            {"name": "RESTOW_SCRATCH", "value": "/tmp"},
            {"name": "RESTOW_SIGNS", "value": "/run/restow"},
            {"name": "RESTOW_METRICS_HOST", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "RESTOW_METRICS_PORT", "value": "9464"},
        ],
        "ports": [{"name": "metrics", "containerPort": 9464, "protocol": "TCP"}],
        "resources": {"requests": amounts, "limits": amounts},
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/restow", "readOnly": True},
            {"name": "volume", "mountPath": "/var/lib/restow"},
            {"name": "scratch", "mountPath": "/tmp"},
            {"name": "signs", "mountPath": "/run/restow"},
        ],
        "livenessProbe": {**probe("/healthz"), "initialDelaySeconds": 60, "periodSeconds": 20},
        "readinessProbe": {**probe("/readyz"), "initialDelaySeconds": 0, "periodSeconds": 5},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def test_its_claim_follows_the_settings() -> None:
    assert claim(settings(), THREE).to_dict() == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "lake-consumer-3", "labels": LABELS},
        "spec": {"accessModes": ["ReadWriteOncePod"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    text = '[kubernetes]\nvolume_gb = 5\nstorage_class = "fast"\naccess_mode = "ReadWriteOnce"'
    assert claim(settings(text), THREE).to_dict()["spec"] == {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "resources": {"requests": {"storage": "5Gi"}},
    }


def test_an_update_overrides_restow_toml() -> None:
    wanted = ConsumerSettings("restow:2", memory_mb=3000, cores=0.25, env=SortedMapping({"LOG_LEVEL": "$(HOME)"}))
    changed = container(wanted=wanted)
    assert changed["image"] == "restow:2"
    assert changed["resources"]["limits"] == {"cpu": "250m", "memory": "3000Mi"}
    assert environment(wanted=wanted) == {
        "HOME": "/tmp",
        "LOG_LEVEL": "$$(HOME)",
        "RESTOW_CORES": "0.25",
        "RESTOW_MEMORY_MB": "3000",
        "RESTOW_SCRATCH": "/tmp",
        "RESTOW_SIGNS": "/run/restow",
        "RESTOW_METRICS_PORT": "9464",
    }


def test_name_and_creation_can_not_be_overridden() -> None:
    wanted = ConsumerSettings(env=SortedMapping({"RESTOW_CREATION": "mine", "RESTOW_CONSUMER": "me"}))
    assert container(wanted=wanted)["env"] == container()["env"]


def test_the_settings_of_a_cluster_go_into_the_pod() -> None:
    text = """
        [kubernetes]
        config_map = "lake-settings"
        service_account = "reader"
        user_id = 0
    """
    spec = pod(text)["spec"]
    assert spec["volumes"][0] == {"name": "config", "configMap": {"name": "lake-settings"}}
    assert spec["serviceAccountName"] == "reader"
    assert spec["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert pod(consumer=f"{IMAGE}grace_s = 1.5\n")["spec"]["terminationGracePeriodSeconds"] == 7


def test_without_metrics_no_port_is_open_and_probes_read_files() -> None:
    text = """
        [kubernetes]
        alive_within_s = 95.5
        [metrics]
        enabled = false
    """
    found = container(text)
    assert "ports" not in found
    assert not [each for each in found["env"] if "METRICS" in each["name"]]
    assert pod(text)["metadata"]["annotations"] == {"restow/restarted": "f00d"}
    alive = 'test "$(( $(date +%s) - $(stat -c %Y /run/restow/alive) ))" -lt 96'
    assert found["livenessProbe"]["exec"]["command"] == ["sh", "-c", alive]
    assert found["readinessProbe"]["exec"]["command"] == ["sh", "-c", "test -e /run/restow/ready"]


def test_pods_say_where_they_are_scraped_and_share_no_port_on_their_node_s_network() -> None:
    assert SCRAPED.items() <= pod()["metadata"]["annotations"].items()
    shared = "[metrics]\npod_port = 7000\n[kubernetes.pod.spec]\nhostNetwork = true\n"
    [port] = container(shared)["ports"]
    assert port["containerPort"] == 7005, "consumer 3, after the monitor, the controller and the page"
    assert pod(shared)["metadata"]["annotations"]["prometheus.io/port"] == "7005"


def test_a_group_without_an_image_is_refused() -> None:
    with pytest.raises(InvalidInput) as refusal:
        made(consumer="")
    assert str(refusal.value) == (
        '[consumer] image is missing; name the image that consumers run, as image = "restow:0.1.0"'
    )


EXTRA = """
[kubernetes.pod.metadata]
annotations = { "example.org/scrape" = "yes" }
labels = { team = "lake" }
[kubernetes.pod.spec]
nodeSelector = { disk = "ssd" }
tolerations = [{ key = "lake", operator = "Exists" }]
imagePullSecrets = [{ name = "registry" }]
terminationGracePeriodSeconds = 90
securityContext = { fsGroup = 7 }
volumes = [
  { name = "secrets", secret = { secretName = "kafka" } },
  { name = "scratch", emptyDir = { sizeLimit = "2Gi" } },
]
[[kubernetes.pod.spec.containers]]
name = "consumer"
env = [{ name = "HOME", value = "/home" }, { name = "P", valueFrom = { secretKeyRef = { name = "kafka", key = "p" } } }]
envFrom = [{ secretRef = { name = "lake" } }]
volumeMounts = [{ name = "secrets", mountPath = "/secrets", readOnly = true }]
resources = { limits = { cpu = "2" } }
[[kubernetes.pod.spec.containers]]
name = "beside"
image = "busybox"
"""


def test_pod_settings_are_merged_item_by_item() -> None:
    template, plain = pod(EXTRA), pod()
    spec, base = template["spec"], plain["spec"]
    assert template["metadata"] == {
        "labels": {**plain["metadata"]["labels"], "team": "lake"},
        "annotations": {**SCRAPED, "restow/restarted": "f00d", "example.org/scrape": "yes"},
    }
    ours, beside = spec.pop("containers")
    [own] = base.pop("containers")
    assert beside == {"name": "beside", "image": "busybox"}
    config, volume, _, signs = base["volumes"]
    assert spec == {
        **base,
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "lake", "operator": "Exists"}],
        "imagePullSecrets": [{"name": "registry"}],
        "terminationGracePeriodSeconds": 90,
        "securityContext": {**base["securityContext"], "fsGroup": 7},
        "volumes": [
            config,
            volume,
            {"name": "scratch", "emptyDir": {"sizeLimit": "2Gi"}},
            signs,
            {"name": "secrets", "secret": {"secretName": "kafka"}},
        ],
    }
    home, *others = own["env"]
    secret = {"name": "P", "valueFrom": {"secretKeyRef": {"name": "kafka", "key": "p"}}}
    assert home == {"name": "HOME", "value": "/tmp"}
    assert ours == {
        **own,
        "env": [{"name": "HOME", "value": "/home"}, secret, *others],
        "envFrom": [{"secretRef": {"name": "lake"}}],
        "volumeMounts": [*own["volumeMounts"], {"name": "secrets", "mountPath": "/secrets", "readOnly": True}],
        "resources": {**own["resources"], "limits": {"cpu": "2", "memory": "1536Mi"}},
    }


def test_a_variable_a_volume_or_a_probe_replaces_ours_as_a_whole() -> None:
    text = """
        [kubernetes.pod.spec]
        volumes = [{ name = "scratch", hostPath = { path = "/fast" } }]
        [[kubernetes.pod.spec.containers]]
        name = "consumer"
        env = [{ name = "HOME", valueFrom = { fieldRef = { fieldPath = "metadata.name" } } }]
        livenessProbe = { httpGet = { port = 80 }, periodSeconds = 7 }
    """
    assert pod(text)["spec"]["volumes"][2] == {"name": "scratch", "hostPath": {"path": "/fast"}}
    changed = container(text)
    assert changed["env"][0] == {"name": "HOME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    assert changed["livenessProbe"] == {
        "httpGet": {"port": 80},
        "initialDelaySeconds": 60,
        "periodSeconds": 7,
        "timeoutSeconds": 10,
        "failureThreshold": 3,
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("spec.nodeSelectr = { a = 'b' }", "has spec.nodeSelectr, which is not a field of a pod template"),
        (
            "spec.containers = [{ name = 'consumer', securityContext = { privilegd = true } }]",
            "has spec.containers[0].securityContext.privilegd, which is not a field of a pod template",
        ),
        (
            "spec.terminationGracePeriodSeconds = 'long'",
            "is not a valid pod template: Expected `int | null`, got `str` - at `$.spec.terminationGracePeriodSeconds`",
        ),
        (
            "spec.containers = [{ name = 'consumer', image = 'other' }]",
            "sets the consumer's image; write it as [consumer] image",
        ),
    ],
)
def test_invalid_pod_settings_are_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        made(f"[kubernetes.pod]\n{text}")
    assert str(refusal.value) == f"[kubernetes.pod] {message}"


def test_the_labels_that_restow_selects_by_can_not_be_set() -> None:
    with pytest.raises(InvalidInput) as refusal:
        made('[kubernetes.pod.metadata.labels]\n"restow/group" = "other"')
    assert str(refusal.value) == (
        "[kubernetes.pod.metadata.labels] sets restow/group, by which restow finds its consumers"
    )


def test_the_digest_changes_with_the_pod_but_not_with_a_consumers_own_settings() -> None:
    assert digest(settings()) == digest(settings(consumer=f"{IMAGE}memory_mb = 9\ncores = 4\n"))
    others = [EXTRA, "[metrics]\npod_port = 99", "[kubernetes]\nservice_account = 'x'"]
    assert len({digest(settings(text)) for text in ("", *others)}) == 4
    assert digest(settings("[kubernetes]\nrequests_at_once = 3")) == digest(settings())
