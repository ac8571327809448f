"""The identity of a cluster's namespace: the same inside and outside, another in every other place; and its way into a
pod."""

import base64
from pathlib import Path

from lightkube.config.kubeconfig import SingleConfig
from lightkube.config.models import Cluster, Context

from restow.model import ConsumerId
from restow.platform.kubernetes import names
from restow.platform.kubernetes.identity import identity_of
from restow.platform.kubernetes.objects import deployment, digest
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.platform_identity import PlatformIdentity
from restow.settings import Settings, read_settings

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\n"


def cluster(server: str, data: str | None = None, file: Path | None = None) -> SingleConfig:
    encoded = None if data is None else base64.b64encode(data.encode()).decode()
    known = Cluster(server=server, certificate_auth_data=encoded, certificate_auth=None if file is None else file.name)
    return SingleConfig("here", Context(cluster="one"), known, None, None if file is None else file.parent / "config")


def settings() -> Settings:
    text = '[kafka]\nbootstrap = "k:9092"\n[group]\nname = "lake"\n[consumer]\nimage = "restow:1"\n'
    return read_settings(text, "restow.toml", {})


def test_a_cluster_is_the_same_inside_and_outside(tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    file.write_text(CERTIFICATE.strip())
    inside = identity_of(cluster("https://10.96.0.1:443", file=file), "lake")
    outside = identity_of(cluster("https://cluster.example:6443", data=CERTIFICATE), "lake")
    assert inside.id == outside.id
    assert outside.name == "namespace lake of https://cluster.example:6443"


def test_another_namespace_or_cluster_is_another_platform(tmp_path: Path) -> None:
    server = "https://10.96.0.1:443"
    platforms = [
        identity_of(cluster(server, data=CERTIFICATE), "lake"),
        identity_of(cluster(server, data=CERTIFICATE), "sea"),
        identity_of(cluster(server, data=CERTIFICATE.replace("MIIC", "MIID")), "lake"),
        identity_of(cluster(server), "lake"),
        identity_of(cluster("https://10.96.0.2:443"), "lake"),
    ]
    assert len({platform.id for platform in platforms}) == 5
    unreadable = cluster(server, file=tmp_path / "missing")
    assert identity_of(unreadable, "lake").id == platforms[3].id


def test_a_pod_has_it_in_a_variable_that_is_no_pod_setting() -> None:
    platform = PlatformIdentity("kubernetes-1", "namespace lake of https://k$(HOME):6443")
    made = deployment(settings(), ConsumerId(3), ConsumerSettings(), "c0ffee", "f00d", platform).to_dict()
    [container] = made["spec"]["template"]["spec"]["containers"]
    [value] = [each["value"] for each in container["env"] if each["name"] == "RESTOW_PLATFORM"]
    assert value == "kubernetes-1 namespace lake of https://k$$(HOME):6443"
    assert names.platform_in({"RESTOW_PLATFORM": value.replace("$$", "$")}) == platform
    assert names.platform_in({}) is None, "a pod of an older version"
    assert made["metadata"]["annotations"]["restow/template"] == digest(settings()), "an upgrade restarts no consumer"
