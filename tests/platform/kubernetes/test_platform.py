"""What the Kubernetes platform adds to the contract: claims, refusals, failures, pod settings.

Without the `node` fixture no pod runs, and only the control plane is tested.
"""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from lightkube import Client
from lightkube.models.apps_v1 import DeploymentSpec
from lightkube.models.core_v1 import (
    Container,
    PersistentVolumeClaimSpec,
    PodSpec,
    PodTemplateSpec,
    ResourceQuotaSpec,
    VolumeResourceRequirements,
)
from lightkube.models.meta_v1 import LabelSelector, ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import PersistentVolumeClaim, Pod, ResourceQuota
from lightkube.types import CascadeType
from tests.support.kubernetes.cluster.control_plane import ControlPlane
from tests.support.kubernetes.cluster.node import Node
from tests.support.kubernetes.platforms import ONE, TWO, Eventually, KubernetesMaker, NowhereMaker, behaving
from tests.support.platform_contract import Watched

from restow.errors import InvalidInput
from restow.platform.interface import ConsumerFailing, ConsumerGone, Listed, PlatformRefusal
from restow.platform.kubernetes import change_tracker

WELL = behaving("well")
NAME = "a-consumer-1"


@pytest.fixture
def nowhere(
    control_plane: ControlPlane, namespace: str, client: Client, eventually: Eventually
) -> Iterator[NowhereMaker]:
    with ExitStack() as ending:
        yield NowhereMaker(control_plane, namespace, client, eventually, ending)


@pytest.fixture
def running(
    control_plane: ControlPlane, node: Node, namespace: str, client: Client, eventually: Eventually
) -> Iterator[KubernetesMaker]:
    node.check()
    with ExitStack() as ending:
        yield KubernetesMaker(control_plane, namespace, client, eventually, ending)


@pytest.fixture
def watched(nowhere: NowhereMaker) -> Watched:
    return Watched(nowhere)


def exists(client: Client, kind: type[Deployment] | type[PersistentVolumeClaim]) -> bool:
    return any(found.metadata is not None and found.metadata.name == NAME for found in client.list(kind))


def uid(client: Client, kind: type[Deployment] | type[PersistentVolumeClaim]) -> str:
    meta = client.get(kind, NAME).metadata
    assert meta is not None
    assert meta.uid is not None
    return meta.uid


# When a consumer is gone.


def test_a_consumer_is_not_gone_while_its_pod_object_is_left(watched: Watched, nowhere: NowhereMaker) -> None:
    watched.platform.create(ONE, WELL)
    nowhere.hold(ONE)
    watched.platform.delete(ONE)
    watched.platform.create(TWO, WELL)
    watched.platform.delete(TWO)
    watched.until_reported(ConsumerGone(TWO))
    assert watched.listed() == (Listed(ONE, leaving=True),)
    nowhere.release(ONE)
    watched.until_reported(ConsumerGone(TWO), ConsumerGone(ONE))
    assert watched.listed() == ()


@pytest.mark.parametrize("cascade", [CascadeType.BACKGROUND, CascadeType.ORPHAN])
def test_nor_when_its_deployment_was_deleted_by_someone_else(
    watched: Watched, nowhere: NowhereMaker, client: Client, cascade: CascadeType
) -> None:
    watched.platform.create(ONE, WELL)
    nowhere.hold(ONE)
    client.delete(Deployment, NAME, cascade=cascade)
    nowhere.advance(lambda: not exists(client, Deployment))
    assert watched.listed() == (Listed(ONE, leaving=True),)
    with pytest.raises(PlatformRefusal) as refusal:
        watched.platform.create(ONE, WELL)
    assert str(refusal.value).startswith("consumer 1 is still leaving: ")
    assert f"Pod {NAME}" in str(refusal.value)
    assert watched.reported == []
    nowhere.release(ONE)


def test_the_last_consumer_with_a_number_is_reported_gone_before_the_next(
    watched: Watched, nowhere: NowhereMaker
) -> None:
    watched.platform.create(ONE, WELL)
    nowhere.advance(lambda: nowhere.pods(ONE))
    watched.platform.delete(ONE)
    nowhere.advance(lambda: watched.listed() == ())
    watched.platform.create(ONE, WELL)
    watched.until_reported(ConsumerGone(ONE))
    assert watched.listed() == (Listed(ONE),)


# Claims.


def test_a_kept_claim_is_reused(watched: Watched, client: Client) -> None:
    claims = []
    for _ in range(2):
        watched.platform.create(ONE, WELL)
        claims.append(uid(client, PersistentVolumeClaim))
        watched.platform.delete(ONE)
        watched.until(lambda: watched.listed() == ())
    assert claims[0] == claims[1] == uid(client, PersistentVolumeClaim)


def test_with_claims_delete_a_consumer_is_gone_after_its_claim(nowhere: NowhereMaker, client: Client) -> None:
    watched = Watched(nowhere)
    watched.platform = nowhere.make(more='claims = "delete"')
    for consumer in (ONE, TWO):
        watched.platform.create(consumer, WELL)
    watched.platform.delete(ONE)
    watched.until_reported(ConsumerGone(ONE))
    assert nowhere.claims() == ["a-consumer-2"]
    watched.platform.create(ONE, WELL)
    assert watched.listed() == (Listed(ONE), Listed(TWO))
    watched.platform.restart(ONE, WELL)
    assert exists(client, PersistentVolumeClaim)


def test_a_claim_that_an_operator_made_is_used(watched: Watched, client: Client) -> None:
    wanted = VolumeResourceRequirements(requests={"storage": "2Mi"})
    spec = PersistentVolumeClaimSpec(accessModes=["ReadWriteOnce"], resources=wanted)
    client.create(PersistentVolumeClaim(metadata=ObjectMeta(name=NAME), spec=spec))
    watched.platform.create(ONE, WELL)
    assert watched.listed() == (Listed(ONE),)


# Objects of others.


def test_a_foreign_deployment_is_left_alone(watched: Watched, client: Client) -> None:
    labels = {"app": "theirs"}
    pod = PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=PodSpec(containers=[Container("x", image="x")]))
    spec = DeploymentSpec(replicas=0, selector=LabelSelector(matchLabels=labels), template=pod)
    client.create(Deployment(metadata=ObjectMeta(name=NAME), spec=spec))
    theirs = uid(client, Deployment)
    with pytest.raises(PlatformRefusal) as refusal:
        watched.platform.create(ONE, WELL)
    assert str(refusal.value) == f"there is a Deployment {NAME} that doesn't belong to group a; delete it"
    watched.platform.delete(ONE)
    assert watched.listed() == ()
    assert uid(client, Deployment) == theirs


# Consumers that don't come up.


def test_a_consumer_whose_pod_is_refused_is_failing(watched: Watched, client: Client) -> None:
    client.create(ResourceQuota(metadata=ObjectMeta(name="none"), spec=ResourceQuotaSpec(hard={"pods": "0"})))
    watched.platform.create(ONE, WELL)
    watched.until(lambda: watched.reported)
    [failing] = watched.reported
    assert isinstance(failing, ConsumerFailing)
    assert failing.consumer == ONE
    assert failing.reason.startswith("its pod is refused: ")
    assert "exceeded quota: none" in failing.reason


def test_an_unschedulable_consumer_is_no_failure_and_is_logged_once(
    watched: Watched, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_tracker, "UNSCHEDULABLE_AFTER_S", 0.0)
    watched.platform.create(ONE, WELL)
    watched.until(lambda: caplog.messages)
    assert watched.reported == []
    assert caplog.messages[0].startswith("consumer 1 waits for a node: ")
    watched.platform.create(TWO, WELL)
    watched.until(lambda: len(caplog.messages) == 2)
    assert caplog.messages[1].startswith("consumer 2 waits for a node: ")


def test_a_consumer_whose_image_is_missing_is_failing(running: KubernetesMaker) -> None:
    watched = Watched(running)
    watched.platform = running.make(container='imagePullPolicy = "Never"')
    watched.platform.create(ONE, behaving("well", image="restow.test/nothing:1"))
    watched.until(lambda: watched.reported)
    [failing] = watched.reported
    assert isinstance(failing, ConsumerFailing)
    assert failing.reason.startswith("ErrImageNeverPull: ")
    assert "restow.test/nothing:1" in failing.reason


def test_a_crash_is_reported_with_the_end_of_the_log(running: KubernetesMaker) -> None:
    watched = Watched(running)
    watched.platform.create(ONE, running.failing)
    watched.until(lambda: any(isinstance(change, ConsumerFailing) for change in watched.reported))
    reason = "CrashLoopBackOff: it ended with code 3; its log ends: no table at hand"
    assert watched.reported[-1] == ConsumerFailing(ONE, reason)


# Pods.

QUICK_PROBES = """
livenessProbe = { initialDelaySeconds = 1, periodSeconds = 1, failureThreshold = 1 }
readinessProbe = { periodSeconds = 1 }
"""


def is_ready(pods: list[Pod]) -> bool:
    conditions = [each for pod in pods if pod.status for each in pod.status.conditions or ()]
    return any(each.type == "Ready" and each.status == "True" for each in conditions)


def test_a_pod_has_its_name_and_no_privileges_and_is_restarted_on_its_volume_when_it_hangs(
    running: KubernetesMaker, client: Client
) -> None:
    watched = Watched(running)
    watched.platform = running.make(container=QUICK_PROBES)
    watched.platform.create(ONE, WELL)
    process = watched.until_works(ONE)
    assert isinstance(process, str)
    name, creation, _ = process.split()
    meta = client.get(Deployment, NAME).metadata
    assert meta is not None
    assert (name, creation) == (NAME, (meta.labels or {})["restow/creation"])
    watched.until(lambda: is_ready(running.pods(ONE)))
    assert (running.volume(ONE) / "rights").read_text() == "user 10001, root read-only\n"
    (running.volume(ONE) / "hang").touch()
    again = watched.until_works(ONE, instead_of=process)
    assert isinstance(again, str)
    assert again.split()[:2] == [name, creation], "the same consumer, on its own volume"
    watched.until_crashed_and_up()


# Settings.


def test_a_list_shows_that_pods_run_an_older_template(nowhere: NowhereMaker) -> None:
    nowhere.make().create(ONE, WELL)
    platform = nowhere.make(more="alive_within_s = 99.0")
    [listed] = platform.list()
    assert listed.settings == f"{WELL.fingerprint}, and other pod settings than [kubernetes] has now"
    platform.restart(ONE, WELL)
    assert platform.list() == (Listed(ONE, settings=WELL.fingerprint),)


def test_pod_settings_that_the_server_rejects_are_refused_at_the_start(nowhere: NowhereMaker, client: Client) -> None:
    platform = nowhere.make(
        pod='tolerations = [{ key = "lake", operator = "Exists" }]\nnodeSelector = { disk = "ssd" }',
        container='env = [{ name = "P", valueFrom = { secretKeyRef = { name = "kafka", key = "p" } } }]',
    )
    platform.create(ONE, WELL)
    spec = client.get(Deployment, NAME).spec
    assert spec is not None
    pod = spec.template.spec
    assert pod is not None
    assert pod.nodeSelector == {"disk": "ssd"}
    assert [toleration.key for toleration in pod.tolerations or ()] == ["lake"]
    assert "P" in [variable.name for variable in pod.containers[0].env or ()]
    with pytest.raises(InvalidInput) as refusal:
        nowhere.make(pod='tolerations = [{ key = "lake", operator = "Perhaps" }]')
    assert str(refusal.value).startswith("Kubernetes rejects consumers as restow.toml describes them: ")
    assert 'Unsupported value: "Perhaps"' in str(refusal.value)
