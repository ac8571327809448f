"""The controller may do what it does, and nothing else; the others may do nothing. As a real API server sees it.

What it does is what the server's audit log shows of its account while a consumer is created, restarted and deleted.
"""

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from lightkube import Client
from lightkube.models.authorization_v1 import ResourceAttributes, SelfSubjectRulesReviewSpec, SubjectAccessReviewSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.models.rbac_v1 import PolicyRule
from lightkube.resources import (
    apps_v1,
    authentication_v1,
    authorization_v1,
    batch_v1,
    core_v1,
    rbac_authorization_v1,
)
from lightkube.resources.authorization_v1 import SelfSubjectRulesReview, SubjectAccessReview
from lightkube.resources.rbac_authorization_v1 import Role
from tests.support.kubernetes.cluster.control_plane import ControlPlane
from tests.support.kubernetes.printing import applied, manifests_of
from tests.support.paths import ROOT

from restow.model import ConsumerId
from restow.platform.interface import ConsumerGone, PlatformRefusal
from restow.platform.kubernetes.platform import KubernetesPlatform
from restow.platform.kubernetes.rbac import Right, rights
from restow.protocol.messages import ConsumerSettings
from restow.settings import Kubernetes, read_settings

Eventually = Callable[..., None]
Call = tuple[str, str, str]
"""An API group, a resource of it, a verb."""

ONE = ConsumerId(1)
SETTINGS = """
[kafka]
bootstrap = "127.0.0.1:1"
[group]
name = "lake"
platform = "kubernetes"
[consumer]
image = "restow.test/none:1"
[consume.orders]
table = "s3://lake/orders"
[kubernetes]
namespace = "{namespace}"
service_account = "lake-consumer"
claims = "{claims}"
"""
MODULES = (apps_v1, authentication_v1, authorization_v1, batch_v1, core_v1, rbac_authorization_v1)
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
UNUSUAL = (  # verbs that some resources alone have, and that lead further than they look
    *(("", resource, "impersonate") for resource in ("users", "groups", "serviceaccounts")),
    *(("rbac.authorization.k8s.io", "roles", verb) for verb in ("bind", "escalate")),
    *(
        ("", resource, "create")
        for resource in ("pods/exec", "pods/attach", "pods/portforward", "serviceaccounts/token")
    ),
    ("*", "*", "*"),
)


def calls_of(claims: str) -> set[Call]:
    granted = rights(Kubernetes(claims=claims))
    return {(right.api_group, right.resource, verb) for right in granted for verb in right.verbs}


class Cluster:
    """A namespace in which an operator has applied what restow prints."""

    def __init__(self, control_plane: ControlPlane, namespace: str, client: Client, claims: str, home: Path) -> None:
        self.namespace, self._control_plane, self._client, self._claims = namespace, control_plane, client, claims
        config = home / "restow.toml"
        config.write_text(SETTINGS.format(namespace=namespace, claims=claims))
        applied(client, manifests_of(config))

    def platform(self) -> KubernetesPlatform:
        """With the controller's own token."""
        kubeconfig = self._control_plane.service_account("lake-controller", self.namespace)
        text = SETTINGS.format(namespace=self.namespace, claims=self._claims) + f'kubeconfig = "{kubeconfig}"\n'
        return KubernetesPlatform(read_settings(text, "restow.toml", {}))

    def user(self, account: str) -> str:
        return f"system:serviceaccount:{self.namespace}:{account}"

    def audited(self, account: str) -> set[Call]:
        """What the server was asked for by it."""
        lines = map(json.loads, self._control_plane.place.audit.read_text().splitlines())
        return {_call(line) for line in lines if line["user"]["username"] == self.user(account)}

    def may(self, account: str, call: Call, namespace: str | None) -> bool:
        group, resource, verb = call
        name, _, part = resource.partition("/")
        asked = ResourceAttributes(group=group, resource=name, subresource=part, verb=verb, namespace=namespace)
        groups = ["system:authenticated", "system:serviceaccounts", f"system:serviceaccounts:{self.namespace}"]
        spec = SubjectAccessReviewSpec(user=self.user(account), groups=groups, resourceAttributes=asked)
        status = self._client.create(SubjectAccessReview(spec=spec)).status
        assert status is not None
        return status.allowed

    def allowed(self, account: str, calls: set[Call], namespace: str | None) -> set[Call]:
        with ThreadPoolExecutor(4) as pool:
            answers = pool.map(lambda call: self.may(account, call, namespace), sorted(calls))
            return {call for call, may in zip(sorted(calls), answers, strict=True) if may}

    def rules(self, account: str, namespace: str) -> set[Call]:
        """All that it may do there, as the server itself lists it."""
        with self._control_plane.client(self._control_plane.service_account(account, self.namespace)) as client:
            review = client.create(SelfSubjectRulesReview(spec=SelfSubjectRulesReviewSpec(namespace=namespace)))
        status = review.status
        assert status is not None
        assert not status.incomplete
        return {
            (group, resource, verb)
            for rule in status.resourceRules
            for group in rule.apiGroups or []
            for resource in rule.resources or []
            for verb in rule.verbs
        }


def _call(line: dict[str, Any]) -> Call:
    asked = line["objectRef"]
    resource = "/".join(filter(None, (asked["resource"], asked.get("subresource"))))
    return asked.get("apiGroup", ""), resource, line["verb"]


@pytest.fixture
def cluster(
    control_plane: ControlPlane,
    namespace: str,
    client: Client,
    tmp_path: Path,
    eventually: Eventually,
    request: pytest.FixtureRequest,
) -> Cluster:
    claims = getattr(request, "param", "delete")
    cluster, own = Cluster(control_plane, namespace, client, claims, tmp_path), calls_of(claims)
    eventually(lambda: cluster.allowed("lake-controller", own, namespace) == own)  # a role counts a moment later
    return cluster


def live(platform: KubernetesPlatform, eventually: Eventually) -> None:
    """All that a controller asks of a platform. Like one, it asks again where the reason of a refusal may pass."""
    eventually(lambda: is_taken(platform.list))
    eventually(lambda: is_taken(lambda: platform.create(ONE, ConsumerSettings())))
    eventually(lambda: is_taken(lambda: platform.restart(ONE, ConsumerSettings(memory_mb=99))))
    eventually(lambda: is_taken(lambda: platform.delete(ONE)))
    eventually(lambda: ConsumerGone(ONE) in platform.changes())


def is_taken(ask: Callable[[], object]) -> bool:
    try:
        ask()
    except PlatformRefusal as refusal:
        if str(refusal).endswith("(403)"):
            raise
        return False
    return True


@pytest.mark.parametrize("cluster", ["keep", "delete"], indirect=True)
def test_the_controllers_role_has_what_the_controller_calls_and_nothing_else(
    cluster: Cluster, eventually: Eventually, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    with cluster.platform() as platform:
        live(platform, eventually)
    expected = calls_of(request.node.callspec.params["cluster"])
    eventually(lambda: cluster.audited("lake-controller") == expected)
    assert [line for line in caplog.messages if "403" in line] == []


@pytest.mark.parametrize("missing", sorted(calls_of("delete")), ids=lambda call: f"{call[2]} {call[1]}")
def test_with_one_verb_less_it_is_told_which(
    cluster: Cluster, client: Client, eventually: Eventually, caplog: pytest.LogCaptureFixture, missing: Call
) -> None:
    group, resource, verb = missing
    rules = [
        PolicyRule(apiGroups=[right.api_group], resources=[right.resource], verbs=verbs)
        for right in rights(Kubernetes(claims="delete"))
        if (verbs := [each for each in right.verbs if (right.api_group, right.resource, each) != missing])
    ]
    client.replace(Role(metadata=ObjectMeta(name="lake-controller"), rules=rules))
    eventually(lambda: not cluster.may("lake-controller", missing, cluster.namespace))
    if verb == "watch":
        with cluster.platform():
            eventually(lambda: caplog.messages)
        [told] = caplog.messages
        assert told.startswith(f"{resource} can't be watched: ")
        told = told.removesuffix("; retrying")
    else:
        with pytest.raises(PlatformRefusal) as refusal, cluster.platform() as platform:
            live(platform, eventually)
        told = str(refusal.value)
    assert told.endswith(
        f'User "{cluster.user("lake-controller")}" cannot {verb} resource "{resource}" in API group "{group}" in the '
        f'namespace "{cluster.namespace}" (403)'
    )


def test_everything_else_is_refused(cluster: Cluster) -> None:
    own, everything = calls_of("delete"), {*all_calls(), *UNUSUAL}
    assert own | OF_EVERYBODY < everything
    assert cluster.allowed("lake-controller", everything, cluster.namespace) == own | OF_EVERYBODY
    for elsewhere in ("default", "kube-system", None):
        assert cluster.allowed("lake-controller", own, elsewhere) == set()


def test_by_the_servers_own_list_the_controller_has_its_role_more_than_others_and_they_have_nothing(
    cluster: Cluster,
) -> None:
    for account in ("lake-monitor", "lake-consumer"):
        assert cluster.rules(account, cluster.namespace) == OF_EVERYBODY
    assert cluster.rules("lake-controller", cluster.namespace) == OF_EVERYBODY | calls_of("delete")
    assert cluster.rules("lake-controller", "kube-system") == OF_EVERYBODY


OF_EVERYBODY = {  # asking who one is, and what one may do: Kubernetes allows that to whoever it knows
    ("authentication.k8s.io", "selfsubjectreviews", "create"),
    ("authorization.k8s.io", "selfsubjectaccessreviews", "create"),
    ("authorization.k8s.io", "selfsubjectrulesreviews", "create"),
}


def all_calls() -> Iterator[Call]:
    """Every verb on every resource that could lead anywhere."""
    for module in MODULES:
        for kind in vars(module).values():
            info: Any = getattr(kind, "_api_info", None)
            if info is not None:
                name = "/".join(filter(None, (info.plural, info.action)))
                yield from (((info.parent or info.resource).group, name, verb) for verb in VERBS)


def test_the_page_for_operators_names_the_rights() -> None:
    page = (ROOT / "docs" / "kubernetes.md").read_text()
    rows = [line.split(" | ") for line in page.splitlines() if re.match(r"\| (apps|core) \|", line)]
    kept, deleted = rights(Kubernetes(claims="keep")), rights(Kubernetes(claims="delete"))
    assert rows == [
        [f"| {right.api_group or 'core'}", right.resource, f"{', '.join(right.verbs)}{_more(right, also)} |"]
        for right, also in zip(kept, deleted, strict=True)
    ]


def _more(right: Right, other: Right) -> str:
    return "".join(f'; with `claims = "delete"` also {verb}' for verb in other.verbs if verb not in right.verbs)
