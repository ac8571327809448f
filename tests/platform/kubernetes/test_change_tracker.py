"""What watched objects say about a consumer, and the changes reported from it: once, in order, never too early."""

from typing import Any

import pytest
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Pod

from restow.model import ConsumerId
from restow.platform.interface import ConsumerCrashed, ConsumerFailing, ConsumerGone, ConsumerUp
from restow.platform.kubernetes.change_tracker import Changed, ChangeTracker, ConfirmedGone, Created, Removed, Snapshot
from restow.platform.kubernetes.status import ObjectStatus, deployment_status, pod_status

ONE, TWO = ConsumerId(1), ConsumerId(2)
LABELS = {"restow/consumer": "1", "restow/creation": "c1"}


def pod(state: dict[str, Any] | None = None, restarts: int = 0, **more: Any) -> ObjectStatus | None:
    """The status of a pod whose container is in this state; `last` is how the one before ended."""
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
    return pod_status(read)


def status(**fields: Any) -> ObjectStatus:
    return ObjectStatus("p1", ONE, "c1", **fields)


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
HOW = "it ended with code 3; its log ends: no table at hand"
KILLED = "it ended with signal 9 (OOMKilled)"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (pod(), status()),
        (pod({"waiting": {"reason": "ContainerCreating"}}), status()),
        (pod({"waiting": {"reason": "ErrImagePull", "message": "no such image"}}), status()),
        (pod(RUNNING), status(up=0)),
        (pod(RUNNING, restarts=4, last=ENDED), status(up=4, ended=(4, HOW))),
        (pod({"terminated": ENDED}), status(ended=(1, HOW))),
        (pod(RUNNING, leaving=True), status()),
        (pod(RUNNING, phase="Failed"), status()),
        (
            pod({"waiting": {"reason": "ImagePullBackOff", "message": "Back-off\n pulling x"}}),
            status(failing=(0, "ImagePullBackOff: Back-off pulling x")),
        ),
        (
            pod({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 20s"}}, restarts=2, last=ENDED),
            status(failing=(2, f"CrashLoopBackOff: {HOW}"), ended=(2, HOW)),
        ),
        (
            pod(
                {"waiting": {"reason": "CrashLoopBackOff"}},
                restarts=1,
                last={"exitCode": 137, "signal": 9, "reason": "OOMKilled"},
            ),
            status(failing=(1, f"CrashLoopBackOff: {KILLED}"), ended=(1, KILLED)),
        ),
        (pod(init=[FAILING_BEFORE]), status(failing=(5, "CrashLoopBackOff"))),
        (
            pod(conditions=[{"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}]),
            status(unschedulable="0/3 nodes are available"),
        ),
        (pod(RUNNING, labels={"restow/consumer": "first"}), None),
    ],
)
def test_a_pod_says_whether_its_consumer_runs_and_if_not_why(
    found: ObjectStatus | None, expected: ObjectStatus | None
) -> None:
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
    assert deployment_status(read) == ObjectStatus("d1", ONE, "c1", failing=(0, "its pod is refused: exceeded quota"))


def deployed(uid: str = "d1", creation: str = "c1") -> Changed:
    return Changed("deployments", ObjectStatus(uid, ONE, creation))


def running(uid: str = "p1", creation: str = "c1", up: int | None = 0) -> Changed:
    return Changed("pods", ObjectStatus(uid, ONE, creation, up=up))


def failing(restarts: int, reason: str = "it crashed") -> Changed:
    return Changed("pods", ObjectStatus("p1", ONE, "c1", failing=(restarts, reason)))


def ended(count: int, up: int | None = None) -> Changed:
    return Changed("pods", ObjectStatus("p1", ONE, "c1", up=up, ended=(count, "killed")))


CRASHED = ConsumerCrashed(ONE, "killed")


@pytest.fixture
def tracker() -> ChangeTracker:
    return ChangeTracker((), ())


def observe(tracker: ChangeTracker, *observations: Any) -> tuple[object, ...]:
    for each in observations:
        tracker.observe(each)
    return tracker.take_changes()


def test_what_exists_at_first_is_not_reported() -> None:
    tracker = ChangeTracker([deployed().status], [running().status])
    assert observe(tracker, deployed(), running()) == ()
    assert observe(tracker, running(up=1)) == (ConsumerUp(ONE),)


def test_each_process_is_reported_once(tracker: ChangeTracker) -> None:
    assert observe(tracker, deployed(), running()) == (ConsumerUp(ONE),)
    assert observe(tracker, running()) == ()
    assert observe(tracker, running(up=None)) == ()
    assert observe(tracker, running(up=1), running(up=2)) == (ConsumerUp(ONE),), "the last of several"
    assert observe(tracker, running("p2")) == (ConsumerUp(ONE),), "another pod"


def test_each_crash_is_reported_once(tracker: ChangeTracker) -> None:
    assert observe(tracker, failing(1)) == (ConsumerFailing(ONE, "it crashed"),)
    assert observe(tracker, failing(1, "in other words")) == ()
    assert observe(tracker, failing(2)) == (ConsumerFailing(ONE, "it crashed"),)
    assert observe(tracker, running(up=3)) == (ConsumerUp(ONE),)


def test_a_crash_is_known_before_it_is_taken(tracker: ChangeTracker) -> None:
    tracker.observe(running())
    assert not tracker.has_crash()
    tracker.observe(ended(1))
    assert tracker.has_crash()
    assert tracker.take_changes() == (CRASHED,)
    assert not tracker.has_crash()


def test_the_first_crash_is_reported_at_once_and_the_next_process_after_it(tracker: ChangeTracker) -> None:
    assert observe(tracker, running()) == (ConsumerUp(ONE),)
    assert observe(tracker, ended(1)) == (CRASHED,)
    assert observe(tracker, ended(1)) == ()
    assert observe(tracker, ended(1, up=1)) == (ConsumerUp(ONE),)


def test_a_crash_is_reported_even_if_the_next_process_runs_already(tracker: ChangeTracker) -> None:
    observe(tracker, running())
    assert observe(tracker, ended(1, up=1)) == (CRASHED, ConsumerUp(ONE))


def test_a_process_that_never_ran_has_not_crashed(tracker: ChangeTracker) -> None:
    assert observe(tracker, ended(1)) == ()


def test_crashes_before_this_controller_are_not_reported() -> None:
    tracker = ChangeTracker((), (ended(2, up=2).status,))
    assert observe(tracker, ended(2, up=2)) == ()
    assert observe(tracker, ended(3)) == (CRASHED,)


def test_a_pod_that_ran_and_was_deleted_between_two_calls_was_up(tracker: ChangeTracker) -> None:
    assert observe(tracker, deployed(), running(), running(up=None)) == (ConsumerUp(ONE),)


def test_of_several_crashes_and_starts_the_last_is_reported(tracker: ChangeTracker) -> None:
    assert observe(tracker, running(), failing(1), running(up=1), failing(2)) == (ConsumerFailing(ONE, "it crashed"),)
    assert observe(tracker, failing(3), running(up=4)) == (ConsumerUp(ONE),)


def test_a_change_is_reported_before_its_consumer_is_gone(tracker: ChangeTracker) -> None:
    observations = (
        deployed(),
        running(),
        Removed("pods", "p1"),
        Removed("deployments", "d1"),
        ConfirmedGone(((ONE, "c1"),)),
    )
    assert observe(tracker, *observations) == (ConsumerUp(ONE), ConsumerGone(ONE))


def test_changes_of_several_consumers_are_ordered_by_number(tracker: ChangeTracker) -> None:
    second = Changed("pods", ObjectStatus("p2", TWO, "c2", up=0))
    assert observe(tracker, second, running()) == (ConsumerUp(ONE), ConsumerUp(TWO))


def test_a_consumer_that_no_watch_shows_is_missing_and_gone_only_when_confirmed(tracker: ChangeTracker) -> None:
    observe(tracker, deployed(), running())
    assert tracker.missing() == ()
    assert observe(tracker, Removed("deployments", "d1")) == ()
    assert tracker.missing() == ()
    assert observe(tracker, Removed("pods", "p1")) == ()
    assert tracker.missing() == ((ONE, "c1"),)
    assert observe(tracker, ConfirmedGone(((ONE, "c1"),))) == (ConsumerGone(ONE),)
    assert tracker.missing() == ()


def test_a_consumer_that_a_list_lacks_is_missing(tracker: ChangeTracker) -> None:
    observe(tracker, deployed(), running())
    observe(tracker, Snapshot("deployments", ()), Snapshot("pods", ()))
    assert tracker.missing() == ((ONE, "c1"),)


def test_a_created_consumer_is_tracked_before_a_watch_shows_it(tracker: ChangeTracker) -> None:
    assert observe(tracker, Created((ONE, "c1"))) == ()
    assert tracker.missing() == ()
    assert tracker.missing(unseen_too=True) == ((ONE, "c1"),)
    assert observe(tracker, ConfirmedGone(((ONE, "c1"),))) == (ConsumerGone(ONE),)


def test_what_a_slow_watch_shows_of_a_gone_consumer_is_ignored(tracker: ChangeTracker) -> None:
    observe(tracker, Created((ONE, "c1")), ConfirmedGone(((ONE, "c1"),)))
    assert observe(tracker, deployed(), running(), Removed("pods", "p1"), Removed("deployments", "d1")) == ()
    assert tracker.missing(unseen_too=True) == ()
    assert observe(tracker, Snapshot("pods", (running().status,))) == ()


def test_the_next_consumer_with_a_number_is_reported_after_the_last_is_gone(tracker: ChangeTracker) -> None:
    observe(tracker, deployed(), running())
    assert observe(tracker, Removed("deployments", "d1"), deployed("d2", "c2"), running("p2", "c2")) == ()
    assert observe(tracker, Removed("pods", "p1")) == ()
    assert tracker.missing() == ((ONE, "c1"),)
    assert observe(tracker, ConfirmedGone(((ONE, "c1"),))) == (ConsumerGone(ONE), ConsumerUp(ONE))


def test_a_consumer_that_waits_long_for_a_node_is_reported_once(tracker: ChangeTracker) -> None:
    waiting = Changed("pods", ObjectStatus("p1", ONE, "c1", unschedulable="no node is large enough"))
    assert observe(tracker, waiting) == ()
    assert tracker.newly_unschedulable(now_s=100.0) == ()
    observe(tracker, running(up=None))
    assert tracker.newly_unschedulable(now_s=120.0) == (), "it didn't wait long"
    observe(tracker, waiting)
    assert tracker.newly_unschedulable(now_s=121.0) == tracker.newly_unschedulable(now_s=135.0) == ()
    assert tracker.newly_unschedulable(now_s=136.0) == ((ONE, "no node is large enough"),)
    observe(tracker, waiting)
    assert tracker.newly_unschedulable(now_s=200.0) == ()
