"""Kills a consumer on a real kubelet again and again, and measures how soon its partitions are read again.

.venv/bin/python -m bench.takeover_on_pods --rounds 10       on an idle machine, as root, after `make servers`

Two light consumers share a load that one could carry. Each round kills the consumer with the most partitions (SIGKILL),
writes a few records to every partition at once, and waits until the table has them all. Kubernetes restarts a container
at once after its first crash, and waits for ten seconds after the second. So if the killed consumer gets its partitions
back, the round kills it once more. Then it deletes the pod, whose successor has no crashes. At the end every record is
looked for. `--into` writes the figures into docs/handover.md.
"""

import argparse
import os
import signal
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from bench.large_groups import write_between_marks
from tests.support.kubernetes.cluster.control_plane import ControlPlane
from tests.support.kubernetes.cluster.node import Node
from tests.support.kubernetes.cluster.tools import control_plane_tools, node_tools
from tests.support.kubernetes.groups import Place, PodGroup, container, is_ready, name_of, uid_of

from restow.kafka.admin import Admin
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.model import TopicPartition
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.messages.service import ServiceUpdate
from restow.scratch import temporary
from restow.settings import Kafka
from restow.study.handover import quantile

PARTITIONS: Final = 8
SHARE: Final = 0.05
"""Of a consumer's capacity, for each partition."""
TARGET_S: Final = 3.0
LOOK_S: Final = 0.02
REPORTED_S: Final = 2.0
"""By then a report has shown that the killed consumer's partitions were read beyond the crash. Without it two crashes
in a row make them suspects, which no other consumer gets."""
PAGE: Final = Path("docs/handover.md")
MARKS: Final = ("<!-- bench/takeover_on_pods.py begin -->", "<!-- bench/takeover_on_pods.py end -->")


def eventually(condition: Callable[[], object], within_s: float = 120.0) -> None:
    deadline_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline_s, f"not within {within_s:g} s"
        time.sleep(LOOK_S)


def make_round(group: PodGroup, orders: tuple[TopicPartition, ...]) -> Iterator[float]:
    """The seconds until every partition is read again, after the first crash of a pod, and after its second."""
    saved = group.saved()
    victim = max(saved, key=lambda number: len(saved[number]))
    pod = group.pod(victim)
    yield kill(group, victim, orders)
    group.wait_until(lambda: container(group.pod(victim)).restartCount == 1 and is_ready(group.pod(victim)))
    settle(group)
    group.produce(orders, each=3)
    group.wait_until(lambda: len(group.stored()) == len(group.produced))
    time.sleep(REPORTED_S)
    if group.saved()[victim]:
        yield kill(group, victim, orders)
    group.delete_pod(name_of(pod))
    group.wait_until(lambda: is_replaced(group, victim, uid_of(pod)))
    settle(group)


def settle(group: PodGroup) -> None:
    group.wait_until(lambda: group.stage() == "Sentinel" and len(group.running()) == 2)


def kill(group: PodGroup, victim: int, orders: tuple[TopicPartition, ...]) -> float:
    process = group.running()[victim]
    killed_s = time.monotonic()
    os.kill(process, signal.SIGKILL)
    group.produce(orders, each=3)
    group.wait_until(lambda: len(group.stored()) == len(group.produced))
    return time.monotonic() - killed_s


def is_replaced(group: PodGroup, consumer: int, uid: str) -> bool:
    """Whether another pod of the consumer is ready, and the only one."""
    pods = group.pods_of(consumer)
    return len(pods) == 1 and uid_of(pods[0]) != uid and is_ready(pods[0])


def measured(rounds: int) -> tuple[list[float], list[float]]:
    """After first crashes, and after second ones."""
    with ExitStack() as running:
        tools = control_plane_tools()
        control_plane = running.enter_context(ControlPlane(tools.hyperkube, tools.etcd))
        node = running.enter_context(Node(control_plane, node_tools()))
        directory = running.enter_context(temporary("takeover"))
        kafka = Kafka(running.enter_context(EmbeddedKafka()).bootstrap)
        admin = running.enter_context(Admin(kafka))
        control_plane.make_namespace(namespace := f"takeover-{uuid.uuid4().hex[:8]}")
        client = running.enter_context(control_plane.admin(namespace))
        group = PodGroup(Place(control_plane, node, namespace, client), kafka, admin, "takeover", directory, eventually)
        running.callback(group.end)
        group.update(ServiceUpdate("consumers", consumers=ConsumerSettings(least_consumers=2)))
        orders = group.topic("orders", PARTITIONS)
        group.produce(orders)
        group.measure(dict.fromkeys(orders, SHARE))
        group.apply()
        group.settle(orders, consumers=2)
        times_s: tuple[list[float], list[float]] = ([], [])
        for number in range(rounds):
            for took_s, found in zip(make_round(group, orders), times_s, strict=False):
                found.append(took_s)
                say(f"round {number + 1}: read again after {took_s:.2f} s")
        group.audit()
    return times_s


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--into", action="store_true", help="write the figures into docs/handover.md")
    args = parser.parse_args()
    of_first, of_second = measured(args.rounds)
    lines = [line_of("first", of_first), *([line_of("second", of_second)] if of_second else [])]
    for line in lines:
        say(line)
    if args.into:
        write_between_marks(PAGE, "".join(f"    {line}\n" for line in lines), *MARKS)
    return int(max(quantile(sorted(each), 0.99) for each in (of_first, of_second) if each) > TARGET_S)


def line_of(crash: str, times_s: list[float]) -> str:
    p50, p99 = (quantile(sorted(times_s), share) for share in (0.5, 0.99))
    missed = "" if p99 <= TARGET_S else ", MISSED"
    return (
        f"{crash} crash of a pod: {len(times_s)} kills, read again after {p50:.2f} s (p50), {p99:.2f} s (p99); "
        f"the target is {TARGET_S:g} s (p99){missed}"
    )


if __name__ == "__main__":
    sys.exit(main())
