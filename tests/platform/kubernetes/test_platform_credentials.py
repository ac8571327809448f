"""Credentials: kubeconfigs, programs that print a token, and a pod's service account."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from lightkube import Client
from lightkube.config.kubeconfig import SingleConfig
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Pod, ServiceAccount
from tests.support.kubernetes.cluster.control_plane import ControlPlane

from restow.errors import InvalidInput
from restow.platform.kubernetes import credentials
from restow.platform.kubernetes.api import Api, Rejected, Unreachable
from restow.platform.kubernetes.credentials import cluster_of, is_local
from restow.settings import Kubernetes

CONTEXTS = [
    {"name": "here", "context": {"cluster": "one", "user": "me", "namespace": "lake"}},
    {"name": "there", "context": {"cluster": "two", "user": "me"}},
    {"name": "nobody", "context": {"cluster": "two"}},
    {"name": "stranger", "context": {"cluster": "two", "user": "unknown"}},
]
CONFIG: dict[str, Any] = {
    "clusters": [
        {"name": "one", "cluster": {"server": "https://one:6443"}},
        {"name": "two", "cluster": {"server": "https://127.0.0.1:6443"}},
    ],
    "users": [{"name": "me", "user": {"token": "hush-hush"}}],
    "contexts": CONTEXTS,
    "current-context": "here",
}


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    path = tmp_path / "config"
    path.write_text(json.dumps(CONFIG))
    return path


def pods_in(cluster: SingleConfig, namespace: str) -> tuple[Pod, ...]:
    api = Api(cluster, namespace, connections=2)
    try:
        return api.list(Pod, "").items
    finally:
        api.close()


def who_is_refused(cluster: SingleConfig, namespace: str) -> str:
    """The user name in the cluster's refusal."""
    with pytest.raises(Rejected) as refusal:
        pods_in(cluster, namespace)
    assert refusal.value.code == 403
    return str(refusal.value).split('"')[1]


def test_the_current_context_is_used_unless_one_is_named(kubeconfig: Path) -> None:
    current = cluster_of(Kubernetes(kubeconfig=str(kubeconfig)), {})
    assert (current.cluster.server, current.namespace) == ("https://one:6443", "lake")
    named = cluster_of(Kubernetes(kubeconfig=str(kubeconfig), context="there"), {})
    assert (named.cluster.server, named.namespace) == ("https://127.0.0.1:6443", "default")
    assert (is_local(current), is_local(named)) == (False, True)


def test_without_a_setting_the_environment_names_the_kubeconfig(kubeconfig: Path) -> None:
    assert cluster_of(Kubernetes(), {"KUBECONFIG": str(kubeconfig)}).namespace == "lake"


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ("nowhere", "the credentials for Kubernetes can't be used: Context 'nowhere' not found"),
        ("nobody", "the context nobody of the kubeconfig names no user; it must name one"),
        ("stranger", "the credentials for Kubernetes can't be used: it has no 'unknown'"),
    ],
)
def test_an_unusable_context_is_refused(kubeconfig: Path, context: str, message: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        cluster_of(Kubernetes(kubeconfig=str(kubeconfig), context=context), {})
    assert str(refusal.value) == message


@pytest.mark.parametrize("text", ["", "clusters: 3", "{", '{"contexts": [], "clusters": []}'])
def test_a_file_that_is_no_kubeconfig_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(InvalidInput) as refusal:
        cluster_of(Kubernetes(kubeconfig=str(path)), {})
    assert str(refusal.value).startswith("the credentials for Kubernetes can't be used: ")
    assert "\n" not in str(refusal.value)


def test_a_missing_file_and_several_files_are_refused(tmp_path: Path) -> None:
    for settings, environment, message in (
        (Kubernetes(kubeconfig=f"{tmp_path}/no"), {}, f"[Errno 2] No such file or directory: '{tmp_path}/no'"),
        (Kubernetes(), {"KUBECONFIG": "a:b"}, "KUBECONFIG names several files; name one as [kubernetes] kubeconfig"),
    ):
        with pytest.raises(InvalidInput) as refusal:
            cluster_of(settings, environment)
        assert str(refusal.value) == f"the credentials for Kubernetes can't be used: {message}"


def test_an_error_message_has_no_secrets(kubeconfig: Path) -> None:
    broken = {**CONFIG, "users": [{"name": "me", "user": {"token": ["hush-hush"]}}]}
    kubeconfig.write_text(json.dumps(broken))
    with pytest.raises(InvalidInput) as refusal:
        cluster_of(Kubernetes(kubeconfig=str(kubeconfig)), {})
    assert "hush-hush" not in str(refusal.value)


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_program_that_prints_a_token_is_run(
    control_plane: ControlPlane, namespace: str, tmp_path: Path, version: str
) -> None:
    original = json.loads(control_plane.kubeconfig.read_text())
    program = tmp_path / "program"
    answer = {"status": {"token": original["users"][0]["user"]["token"]}}
    (tmp_path / "answer").write_text(json.dumps(answer))
    program.write_text(f'#!/bin/sh\nprintf %s "$KUBERNETES_EXEC_INFO" > {tmp_path}/asked\ncat {tmp_path}/answer\n')
    program.chmod(0o755)
    api_version = f"client.authentication.k8s.io/{version}"
    original["users"][0]["user"] = {"exec": {"apiVersion": api_version, "command": str(program)}}
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(json.dumps(original))
    assert pods_in(cluster_of(Kubernetes(kubeconfig=str(kubeconfig)), {}), namespace) == ()
    if version == "v1":
        info = json.loads((tmp_path / "asked").read_text())
        assert info == {"apiVersion": api_version, "kind": "ExecCredential", "spec": {"interactive": False}}


def test_a_program_that_prints_something_else_is_an_error_of_one_line(tmp_path: Path) -> None:
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "echo", "args": ["hello\nthere"]}}
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(json.dumps({**CONFIG, "users": [{"name": "me", "user": user}]}))
    with pytest.raises(Unreachable) as refusal:
        pods_in(cluster_of(Kubernetes(kubeconfig=str(kubeconfig), context="there"), {}), "lake")
    assert str(refusal.value).startswith("Kubernetes at https://127.0.0.1:6443 doesn't answer: ")
    assert "\n" not in str(refusal.value)


def test_a_pod_uses_its_service_account_after_its_token_was_rotated(
    control_plane: ControlPlane, client: Client, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.create(ServiceAccount(metadata=ObjectMeta(name="controller")))
    config = json.loads(control_plane.service_account("controller", namespace).read_text())
    token = config["users"][0]["user"]["token"]
    (tmp_path / "token").write_text("of an hour ago")
    (tmp_path / "namespace").write_text(namespace)
    (tmp_path / "ca.crt").write_bytes(control_plane.place.authority.root.certificate.read_bytes())
    server = urlsplit(control_plane.place.api)
    monkeypatch.setattr(credentials, "SERVICE_ACCOUNT", str(tmp_path))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", str(server.hostname))
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
    cluster = cluster_of(Kubernetes())
    assert cluster.namespace == namespace
    (tmp_path / "token").write_text(token)
    assert who_is_refused(cluster, namespace) == f"system:serviceaccount:{namespace}:controller"
