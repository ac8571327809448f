"""The test cluster's control plane behaves like a real one."""

from collections.abc import Callable

import pytest
from lightkube import ApiError, Client
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.models.rbac_v1 import PolicyRule, RoleRef, Subject
from lightkube.resources.core_v1 import ConfigMap, PersistentVolumeClaim, Pod, ServiceAccount
from lightkube.resources.rbac_authorization_v1 import Role, RoleBinding
from tests.support.kubernetes.cluster.control_plane import ControlPlane
from tests.support.kubernetes.pods import claim

Eventually = Callable[..., None]


def test_a_service_account_may_do_what_its_role_allows_and_nothing_else(
    control_plane: ControlPlane, client: Client, namespace: str
) -> None:
    named = ObjectMeta(name="reader")
    client.create(ServiceAccount(metadata=named))
    client.create(Role(metadata=named, rules=[PolicyRule(apiGroups=[""], resources=["pods"], verbs=["list"])]))
    role = RoleRef(apiGroup="rbac.authorization.k8s.io", kind="Role", name="reader")
    client.create(RoleBinding(metadata=named, roleRef=role, subjects=[Subject("ServiceAccount", "reader")]))
    with control_plane.client(control_plane.service_account("reader", namespace), namespace) as reader:
        assert list(reader.list(Pod)) == []
        with pytest.raises(ApiError) as refusal:
            reader.delete(Pod, "any")
        assert refusal.value.status.code == 403
        with pytest.raises(ApiError) as refusal:
            list(reader.list(Pod, namespace="kube-system"))
        assert refusal.value.status.code == 403


def test_a_claim_is_bound_to_a_directory_of_this_machine(
    control_plane: ControlPlane, client: Client, namespace: str, eventually: Eventually
) -> None:
    client.create(claim("claim"))
    eventually(lambda: (found := client.get(PersistentVolumeClaim, "claim")).status and found.status.phase == "Bound")
    volume = control_plane.volume("claim", namespace)
    assert volume.is_dir()
    client.delete(PersistentVolumeClaim, "claim")
    eventually(lambda: not volume.exists(), within_s=60)


def test_a_restarted_api_server_has_its_objects_but_no_history(
    control_plane: ControlPlane, client: Client, eventually: Eventually
) -> None:
    first = client.create(ConfigMap(metadata=ObjectMeta(name="first"), data={"kept": "yes"}))
    client.create(ConfigMap(metadata=ObjectMeta(name="second")))
    control_plane.restart_api_server()
    found = client.get(ConfigMap, "first")
    assert found == first
    eventually(lambda: code_of_a_watch_from(client, first) == 410)  # at first it answers with 429
    control_plane.check()


def code_of_a_watch_from(client: Client, seen: ConfigMap) -> int | None:
    """The status code of a watch from the version of this object."""
    assert seen.metadata is not None
    with pytest.raises(ApiError) as refusal:
        next(iter(client.watch(ConfigMap, resource_version=seen.metadata.resourceVersion)))
    return refusal.value.status.code
