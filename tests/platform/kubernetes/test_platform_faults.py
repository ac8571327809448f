"""An API server that throttles, conflicts, expires, breaks off, stays silent or restarts: no change is lost, none is
reported falsely, and a refused request has its reason. No pod runs here: none has a node.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from lightkube import Client
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap
from tests.support.kubernetes.cluster.control_plane import ControlPlane
from tests.support.kubernetes.faults import Door, Fault, opened
from tests.support.kubernetes.platforms import ONE, TWO, Eventually, NowhereMaker, behaving
from tests.support.platform_contract import Watched

from restow.model import ConsumerId
from restow.platform.interface import ConsumerGone, CreateConsumer, Listed, PlatformRefusal, RefusedRequest
from restow.platform.kubernetes import api
from restow.platform.kubernetes import platform as kubernetes_platform

WELL, STUBBORN = behaving("well"), behaving("stubborn")
NAME = "a-consumer-1"
BOOKMARK = (
    b'{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"%s",'
    b'"creationTimestamp":null},"spec":{"containers":null},"status":{}}}\n'
)
"""As a server sends it about every minute."""


@pytest.fixture
def door(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Door]:
    with opened(control_plane, tmp_path) as door:
        yield door


@pytest.fixture
def place(
    control_plane: ControlPlane, door: Door, namespace: str, client: Client, eventually: Eventually
) -> Iterator[NowhereMaker]:
    """Platforms made here go through the door."""
    with ExitStack() as ending:
        place = NowhereMaker(control_plane, namespace, client, eventually, ending)
        place.kubeconfig = door.kubeconfig
        yield place


@pytest.fixture
def watched(place: NowhereMaker, door: Door) -> Watched:
    watched = Watched(place)
    watched.until(lambda: door.count("WATCH", "pods") and door.count("WATCH", "deployments"))
    door.passed.clear()
    return watched


def annotations(client: Client) -> dict[str, str]:
    meta = client.get(Deployment, NAME).metadata
    assert meta is not None
    return meta.annotations or {}


def note(client: Client, word: str) -> None:
    """Another client writes to the Deployment."""
    client.patch(Deployment, NAME, {"metadata": {"annotations": {"another": word}}})


def test_a_throttled_request_is_retried_after_the_servers_retry_after(watched: Watched, door: Door) -> None:
    door.faults.append(
        Fault(lambda request: request.does("POST", "deployments"), code=429, headers={"Retry-After": "1"})
    )
    begun_s = time.monotonic()
    watched.platform.create(ONE, WELL)
    assert time.monotonic() - begun_s >= 1.0
    assert door.count("POST", "deployments") == 2
    assert watched.listed() == (Listed(ONE),)


def test_a_request_is_refused_when_throttling_lasts(watched: Watched, door: Door) -> None:
    door.faults.append(Fault(lambda request: request.does("POST", "deployments"), times=1000, code=429))
    with pytest.raises(PlatformRefusal) as refusal:
        watched.platform.create(ONE, WELL)
    assert str(refusal.value) == "the door is shut (429)"
    assert 2 <= door.count("POST", "deployments") <= 10, "retried, with backoff"
    assert watched.listed() == ()
    door.faults.clear()
    watched.platform.create(ONE, WELL)
    assert watched.listed() == (Listed(ONE),)


def test_nothing_is_created_when_the_inventory_can_not_be_read(watched: Watched, door: Door) -> None:
    door.faults.append(Fault(lambda request: request.method == "GET" and not request.is_watch, times=1000, code=503))
    requests = (CreateConsumer(ONE, WELL), CreateConsumer(TWO, WELL))
    assert watched.platform.take(requests) == tuple(
        RefusedRequest(request, "the door is shut (503)") for request in requests
    )
    assert door.count("POST", "deployments") == 0
    with pytest.raises(PlatformRefusal, match=r"^the door is shut \(503\)$"):
        watched.platform.list()


def test_a_creation_whose_answer_is_lost_is_not_made_twice(watched: Watched, door: Door, client: Client) -> None:
    door.faults.append(Fault(lambda request: request.does("POST", "deployments"), code=504, passed_on=True))
    watched.platform.create(ONE, WELL)
    assert door.count("POST", "deployments") == 2, "the second was answered with a conflict"
    assert len(list(client.list(Deployment))) == 1
    assert watched.listed() == (Listed(ONE),)


def test_a_restart_succeeds_despite_conflicting_writes(
    watched: Watched, door: Door, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes_platform, "RETRY_FOR_S", 60.0)  # a busy machine may take more than two seconds
    watched.platform.create(ONE, WELL)
    words = iter(("one", "two"))
    door.faults.append(
        Fault(lambda request: request.does("PUT", "deployments"), times=2, before=lambda: note(client, next(words)))
    )
    watched.platform.restart(ONE, STUBBORN)
    assert door.count("PUT", "deployments") >= 3, "at least two conflicts, then success"
    assert annotations(client)["another"] == "two", "what others wrote stays"
    assert watched.settings() == {ONE: STUBBORN.fingerprint}


def test_a_restart_is_refused_if_the_consumer_is_deleted_meanwhile(
    watched: Watched, door: Door, place: NowhereMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes_platform, "RETRY_FOR_S", 60.0)  # a busy machine may take more than two seconds
    watched.platform.create(ONE, WELL)
    place.hold(ONE)
    door.faults.append(
        Fault(lambda request: request.does("PUT", "deployments"), before=lambda: place.make().delete(ONE))
    )
    with pytest.raises(PlatformRefusal, match=r"^consumer 1 can't be restarted: it is leaving: Deployment "):
        watched.platform.restart(ONE, STUBBORN)
    place.release(ONE)
    watched.until(lambda: ConsumerGone(ONE) in watched.reported)


def test_a_broken_watch_resumes_where_it_ended(watched: Watched, door: Door) -> None:
    watched.platform.create(ONE, WELL)
    lists = door.count("GET", "pods")
    door.cut_watches()
    watched.until(lambda: min(door.count("WATCH", kind) for kind in ("pods", "deployments")) >= 1)
    assert door.count("GET", "pods") == lists, "without a fresh list"
    watched.platform.delete(ONE)
    watched.until_reported(ConsumerGone(ONE))


def test_a_watch_resumes_from_its_last_bookmark(
    watched: Watched, door: Door, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    newer = client.create(ConfigMap(metadata=ObjectMeta(name="newer"))).metadata
    assert newer is not None
    version = str(newer.resourceVersion)
    door.faults.append(Fault(lambda request: request.does("WATCH", "pods"), line=BOOKMARK % version.encode()))

    def resumes_from_there() -> bool:
        door.cut_watches()
        return any(f"resourceVersion={version}&" in request.query for request in [*door.passed])

    watched.until(resumes_from_there)
    assert not any("can't be read" in line for line in caplog.messages)


def test_changes_during_an_expired_watch_are_found(
    watched: Watched, door: Door, client: Client, place: NowhereMaker
) -> None:
    watched.platform.create(ONE, WELL)
    watched.until(lambda: place.pods(ONE))
    watching = Fault(lambda request: request.is_watch, times=1000, code=503)
    door.faults.append(watching)
    door.cut_watches()
    client.delete(Deployment, NAME)
    place.advance(lambda: not place.pods(ONE) and not list(client.list(Deployment)))
    assert watched.reported == []
    watching.code, watching.times = 410, 2
    watched.until_reported(ConsumerGone(ONE))


def test_a_silent_watch_is_reopened(place: NowhereMaker, door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "SILENT_FOR_S", 0.5)
    door.faults.append(Fault(lambda request: request.is_watch, times=2, silent=True))
    watched = Watched(place)
    watched.platform.create(ONE, WELL)
    watched.platform.delete(ONE)
    watched.until_reported(ConsumerGone(ONE))


def test_a_restarting_api_server_is_waited_for(
    watched: Watched, place: NowhereMaker, control_plane: ControlPlane, caplog: pytest.LogCaptureFixture
) -> None:
    watched.platform.create(ONE, WELL)
    watched.until(lambda: place.pods(ONE))
    caplog.set_level(logging.INFO, "restow")
    control_plane.stop_api_server()
    with pytest.raises(PlatformRefusal) as refusal:
        watched.platform.list()
    assert str(refusal.value).startswith(f"Kubernetes at {place.server} doesn't answer: ")
    with pytest.raises(PlatformRefusal):
        watched.platform.delete(ONE)
    watched.until(lambda: any("can't be watched" in line for line in caplog.messages))
    assert watched.reported == [], "a silent server makes no consumer gone"
    control_plane.start_api_server()
    watched.until(lambda: any("pods are watched again" in line for line in caplog.messages))
    assert watched.listed() == (Listed(ONE),)
    watched.platform.delete(ONE)
    watched.until_reported(ConsumerGone(ONE))


def test_requests_run_in_parallel_up_to_the_limit(place: NowhereMaker, door: Door) -> None:
    platform = place.make(more="requests_at_once = 4")
    assert platform.at_once == 4
    requests = [CreateConsumer(ConsumerId(number), WELL) for number in range(1, 25)]
    door.most_at_once = 0
    assert platform.take(requests) == ()
    assert 2 <= door.most_at_once <= 4
    assert [listed.consumer for listed in platform.list()] == [request.consumer for request in requests]
