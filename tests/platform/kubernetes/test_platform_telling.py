"""What a watched pod or Deployment says of its consumer, and what of it is told: once, in order, never too early."""

from typing import Any

import pytest
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Pod

from restow.model import ConsumerId
from restow.platform.interface import ConsumerFailing, ConsumerGone, ConsumerUp
from restow.platform.kubernetes.change_tracker import All, Asked, Changed, FoundGone, Removed, Teller
from restow.platform.kubernetes.status import Seen, deployment_seen, pod_seen

ONE, TWO = ConsumerId(1), ConsumerId(2)
LABELS = {"restow/consumer": "1", "restow/creation": "c1"}


def pod(state: dict[str, Any] | None = None, restarts: int = 0, **more: Any) -> Seen | None:
    """A pod whose container is in this state; `last` is how the one before ended."""
    status: dict[str, Any] = {"phase": more.get("phase", "Running"), "conditions": more.get("conditions", [])}
    if state is not None:
        container = {"name": "consumer", "image": "", "imageID": "", "ready": False, "restartCount": restarts}
        last = {"lastState": {"terminated": more["last"]}} if "last" in more else {}
        status["containerStatuses"] = [{**container, "name": "beside"}, {**container, "state": state, **last}]
    status |= {"initContainerStatuses": more["init"]} if "init" in more else {}
    leaving = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if more.get("leaving") else {}
    metadata = {"name": "p", "uid": "p1", "labels": more.get("labels", LABELS), **leaving}
    read = Pod.from_dict({"metadata": metadata, "status": status})
    assert isinstance(read, Pod)
    return pod_seen(read)


def seen(**says: Any) -> Seen:
    return Seen("p1", ONE, "c1", **says)


RUNNING = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
FAILING_BEFORE = {
    "name": "before",
    "image": "",
    "imageID": "",
    "ready": False,
    "restartCount": 5,
    "state": {"waiting": {"reason": "CrashLoopBackOff"}},
}
ENDED = {"exitCode": 3, "reason": "Error", "message": "reading\nno table at hand\n"}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (pod(), seen()),
        (pod({"waiting": {"reason": "ContainerCreating"}}), seen()),
        (pod({"waiting": {"reason": "ErrImagePull", "message": "no such image"}}), seen()),
        (pod(RUNNING), seen(up=0)),
        (pod(RUNNING, restarts=4, last=ENDED), seen(up=4)),
        (pod({"terminated": ENDED}), seen()),
        (pod(RUNNING, leaving=True), seen()),
        (pod(RUNNING, phase="Failed"), seen()),
        (
            pod({"waiting": {"reason": "ImagePullBackOff", "message": "Back-off\n pulling x"}}),
            seen(failing=(0, "ImagePullBackOff: Back-off pulling x")),
        ),
        (
            pod({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 20s"}}, restarts=2, last=ENDED),
            seen(failing=(2, "CrashLoopBackOff: it ended with code 3; its log ends: no table at hand")),
        ),
        (
            pod(
                {"waiting": {"reason": "CrashLoopBackOff"}},
                restarts=1,
                last={"exitCode": 137, "signal": 9, "reason": "OOMKilled"},
            ),
            seen(failing=(1, "CrashLoopBackOff: it ended with signal 9 (OOMKilled)")),
        ),
        (pod(init=[FAILING_BEFORE]), seen(failing=(5, "CrashLoopBackOff"))),
        (
            pod(conditions=[{"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}]),
            seen(waits="0/3 nodes are available"),
        ),
        (pod(RUNNING, labels={"restow/consumer": "first"}), None),
    ],
)
def test_a_pod_says_whether_its_consumer_runs_and_if_not_why(found: Seen | None, expected: Seen | None) -> None:
    assert found == expected


def test_a_deployment_says_that_its_pod_is_refused() -> None:
    refused = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota"}
    read = Deployment.from_dict(
        {
            "metadata": {"name": "d", "uid": "d1", "labels": LABELS},
            "spec": {"selector": {}, "template": {}},
            "status": {"conditions": [{"type": "Progressing", "status": "True"}, refused]},
        }
    )
    assert isinstance(read, Deployment)
    assert deployment_seen(read) == Seen("d1", ONE, "c1", failing=(0, "its pod is refused: exceeded quota"))


def deployed(uid: str = "d1", creation: str = "c1") -> Changed:
    return Changed("deployments", Seen(uid, ONE, creation))


def running(uid: str = "p1", creation: str = "c1", up: int | None = 0) -> Changed:
    return Changed("pods", Seen(uid, ONE, creation, up=up))


def failing(restarts: int, reason: str = "it fell") -> Changed:
    return Changed("pods", Seen("p1", ONE, "c1", failing=(restarts, reason)))


@pytest.fixture
def teller() -> Teller:
    return Teller((), ())


def hear(teller: Teller, *news: Any) -> tuple[object, ...]:
    for each in news:
        teller.hear(each)
    return teller.tell()


def test_what_was_there_at_first_is_not_told(teller: Teller) -> None:
    teller = Teller([deployed().seen], [running().seen])
    assert hear(teller, deployed(), running()) == ()
    assert hear(teller, running(up=1)) == (ConsumerUp(ONE),)


def test_each_process_is_told_once(teller: Teller) -> None:
    assert hear(teller, deployed(), running()) == (ConsumerUp(ONE),)
    assert hear(teller, running()) == ()
    assert hear(teller, running(up=None)) == ()
    assert hear(teller, running(up=1), running(up=2)) == (ConsumerUp(ONE),), "the last of several"
    assert hear(teller, running("p2")) == (ConsumerUp(ONE),), "another pod"


def test_each_fall_is_told_once(teller: Teller) -> None:
    assert hear(teller, failing(1)) == (ConsumerFailing(ONE, "it fell"),)
    assert hear(teller, failing(1, "in other words")) == ()
    assert hear(teller, failing(2)) == (ConsumerFailing(ONE, "it fell"),)
    assert hear(teller, running(up=3)) == (ConsumerUp(ONE),)


def test_one_that_was_up_before_it_was_told_to_end_was_up(teller: Teller) -> None:
    assert hear(teller, deployed(), running(), running(up=None)) == (ConsumerUp(ONE),)


def test_of_several_falls_and_starts_the_last_is_told(teller: Teller) -> None:
    assert hear(teller, running(), failing(1), running(up=1), failing(2)) == (ConsumerFailing(ONE, "it fell"),)
    assert hear(teller, failing(3), running(up=4)) == (ConsumerUp(ONE),)


def test_what_became_of_one_is_told_before_it_is_gone(teller: Teller) -> None:
    news = (deployed(), running(), Removed("pods", "p1"), Removed("deployments", "d1"), FoundGone(((ONE, "c1"),)))
    assert hear(teller, *news) == (ConsumerUp(ONE), ConsumerGone(ONE))


def test_those_of_several_consumers_are_told_by_number(teller: Teller) -> None:
    second = Changed("pods", Seen("p2", TWO, "c2", up=0))
    assert hear(teller, second, running()) == (ConsumerUp(ONE), ConsumerUp(TWO))


def test_that_a_watch_shows_nothing_more_is_a_reason_to_look_and_not_to_tell(teller: Teller) -> None:
    hear(teller, deployed(), running())
    assert teller.missing() == ()
    assert hear(teller, Removed("deployments", "d1")) == ()
    assert teller.missing() == ()
    assert hear(teller, Removed("pods", "p1")) == ()
    assert teller.missing() == ((ONE, "c1"),)
    assert hear(teller, FoundGone(((ONE, "c1"),))) == (ConsumerGone(ONE),)
    assert teller.missing() == ()


def test_what_a_list_lacks_is_missing_too(teller: Teller) -> None:
    hear(teller, deployed(), running())
    hear(teller, All("deployments", ()), All("pods", ()))
    assert teller.missing() == ((ONE, "c1"),)


def test_one_that_was_asked_for_is_known_before_a_watch_shows_it(teller: Teller) -> None:
    assert hear(teller, Asked((ONE, "c1"))) == ()
    assert teller.missing() == ()
    assert teller.missing(unseen_too=True) == ((ONE, "c1"),)
    assert hear(teller, FoundGone(((ONE, "c1"),))) == (ConsumerGone(ONE),)


def test_what_a_slow_watch_shows_of_one_that_is_gone_is_history(teller: Teller) -> None:
    hear(teller, Asked((ONE, "c1")), FoundGone(((ONE, "c1"),)))
    assert hear(teller, deployed(), running(), Removed("pods", "p1"), Removed("deployments", "d1")) == ()
    assert teller.missing(unseen_too=True) == ()
    assert hear(teller, All("pods", (running().seen,))) == ()


def test_the_next_with_a_number_is_told_after_the_last_is_gone(teller: Teller) -> None:
    hear(teller, deployed(), running())
    assert hear(teller, Removed("deployments", "d1"), deployed("d2", "c2"), running("p2", "c2")) == ()
    assert hear(teller, Removed("pods", "p1")) == ()
    assert teller.missing() == ((ONE, "c1"),)
    assert hear(teller, FoundGone(((ONE, "c1"),))) == (ConsumerGone(ONE), ConsumerUp(ONE))


def test_one_that_waits_long_for_a_node_is_mentioned_once(teller: Teller) -> None:
    waiting = Changed("pods", Seen("p1", ONE, "c1", waits="no node is large enough"))
    assert hear(teller, waiting) == ()
    assert teller.lines(now_s=100.0) == ()
    hear(teller, running(up=None))
    assert teller.lines(now_s=120.0) == (), "it didn't wait long"
    hear(teller, waiting)
    assert teller.lines(now_s=121.0) == teller.lines(now_s=135.0) == ()
    assert teller.lines(now_s=136.0) == ("consumer 1 waits for a node: no node is large enough",)
    hear(teller, waiting)
    assert teller.lines(now_s=200.0) == ()
