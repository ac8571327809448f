"""RBAC against a real API server: the controller may do what it does and nothing else, the other roles nothing.

What it does is read from the audit log while a consumer is created, restarted and deleted.
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
from restow.platform.kubernetes.rbac import Rule, rules
from restow.protocol.consumer_settings import ConsumerSettings
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
pod.spec.nodeSelector.kept-for = "nobody"
"""
MODULES = (apps_v1, authentication_v1, authorization_v1, batch_v1, core_v1, rbac_authorization_v1)
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
UNUSUAL = (  # verbs of few resources that allow more than they seem to
    *(("", resource, "impersonate") for resource in ("users", "groups", "serviceaccounts")),
    *(("rbac.authorization.k8s.io", "roles", verb) for verb in ("bind", "escalate")),
    *(
        ("", resource, "create")
        for resource in ("pods/exec", "pods/attach", "pods/portforward", "serviceaccounts/token")
    ),
    ("*", "*", "*"),
)


def calls_of(claims: str) -> set[Call]:
    granted = rules(Kubernetes(claims=claims))
    return {(rule.api_group, rule.resource, verb) for rule in granted for verb in rule.verbs}


class Cluster:
    """A namespace with the manifests that restow prints applied."""

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
        """The calls of this account."""
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
        """All that the account may do there, by the server's own list."""
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
    eventually(
        lambda: cluster.allowed("lake-controller", own, namespace) == own
    )  # a new role takes effect a moment later
    return cluster


def live(platform: KubernetesPlatform, eventually: Eventually) -> None:
    """All that a controller asks of a platform, with its retries."""
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
def test_the_controllers_role_allows_what_the_controller_calls_and_nothing_else(
    cluster: Cluster, eventually: Eventually, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    with cluster.platform() as platform:
        live(platform, eventually)
    expected = calls_of(request.node.callspec.params["cluster"])
    eventually(lambda: cluster.audited("lake-controller") == expected)
    assert [line for line in caplog.messages if "403" in line] == []


@pytest.mark.parametrize("missing", sorted(calls_of("delete")), ids=lambda call: f"{call[2]} {call[1]}")
def test_an_error_names_the_missing_verb(
    cluster: Cluster, client: Client, eventually: Eventually, caplog: pytest.LogCaptureFixture, missing: Call
) -> None:
    group, resource, verb = missing
    remaining = [
        PolicyRule(apiGroups=[rule.api_group], resources=[rule.resource], verbs=verbs)
        for rule in rules(Kubernetes(claims="delete"))
        if (verbs := [each for each in rule.verbs if (rule.api_group, rule.resource, each) != missing])
    ]
    client.replace(Role(metadata=ObjectMeta(name="lake-controller"), rules=remaining))
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


def test_only_the_controller_has_rules_in_the_servers_own_list(
    cluster: Cluster,
) -> None:
    for account in ("lake-monitor", "lake-consumer"):
        assert cluster.rules(account, cluster.namespace) == OF_EVERYBODY
    assert cluster.rules("lake-controller", cluster.namespace) == OF_EVERYBODY | calls_of("delete")
    assert cluster.rules("lake-controller", "kube-system") == OF_EVERYBODY


OF_EVERYBODY = {  # every account may ask who it is and what it may do
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


def test_the_page_for_operators_has_the_rules() -> None:
    page = (ROOT / "docs" / "kubernetes.md").read_text()
    rows = [line.split(" | ") for line in page.splitlines() if re.match(r"\| (apps|core) \|", line)]
    keep, delete = rules(Kubernetes(claims="keep")), rules(Kubernetes(claims="delete"))
    assert rows == [
        [f"| {rule.api_group or 'core'}", rule.resource, f"{', '.join(rule.verbs)}{_more(rule, also)} |"]
        for rule, also in zip(keep, delete, strict=True)
    ]


def _more(rule: Rule, other: Rule) -> str:
    return "".join(f'; with `claims = "delete"` also {verb}' for verb in other.verbs if verb not in rule.verbs)
