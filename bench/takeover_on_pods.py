"""Kills a consumer on a real kubelet again and again, and measures how soon its partitions are read again.

.venv/bin/python -m bench.takeover_on_pods --rounds 10            on an idle machine, as root, after `make servers`
.venv/bin/python -m bench.takeover_on_pods --kill process --rounds 20
.venv/bin/python -m bench.takeover_on_pods --pipeline spark --rounds 5

Two consumers share a load that one could carry, and work for a while. Each round kills the consumer with the most
partitions (SIGKILL), writes a few records to every partition at once, and waits until the table has them all. The
benchmark watches the pods too, and notes when the API server shows the crash: what passes before that is the
kubelet's. Kubernetes restarts a container at once after its first crash, and waits for ten seconds after the second. So
if the killed consumer gets its partitions back, the round kills it once more. Then it deletes the pod, whose successor
has no crashes. `--kill process` kills a light consumer alone, which its parent in the container starts again: neither
the kubelet nor the API server has a part in that. At the end every record is looked for. `--into` writes the figures
into docs/handover.md.
"""

import argparse
import os
import signal
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from bench.large_groups import write_between_marks
from bench.pod_groups import KINDS, LightPods, PodWatch
from tests.support.kubernetes.cluster.control_plane import ControlPlane
from tests.support.kubernetes.cluster.node import Node
from tests.support.kubernetes.cluster.tools import control_plane_tools, node_tools
from tests.support.kubernetes.groups import Place, container, is_ready, name_of, uid_of

from restow.kafka.admin import Admin
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.model import TopicPartition
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.messages.service import ServiceUpdate
from restow.roles.respawn import STABLE_AFTER_S
from restow.scratch import temporary
from restow.settings import Kafka
from restow.study.handover import quantile

PARTITIONS: Final = 8
SHARE: Final = 0.1
"""Of a consumer's capacity, for each partition."""
WORK_S: Final = 60.0
"""How long the consumers work before the first kill."""
TARGETS_S: Final = {"light": 1.0, "spark": 3.0}
KILLS: Final = ("container", "process")
PROCESS: Final = "a killed process in its container"
FIRST: Final = "first crash of a pod"
SECOND: Final = "second crash of a pod"
LOOK_S: Final = 0.02
REPORTED_S: Final = 2.0
"""By then a report has shown that the killed consumer's partitions were read beyond the crash. Without it two crashes
in a row make them suspects, which no other consumer gets."""
PAGE: Final = Path("docs/handover.md")
MARKS: Final = ("<!-- bench/takeover_on_pods.py {} begin -->", "<!-- bench/takeover_on_pods.py {} end -->")


@dataclass(frozen=True, slots=True)
class Kill:
    """Of one consumer. All times are seconds after the kill."""

    crash: str
    partitions: int
    shown_s: float
    """When the API server showed the crash; infinity if it never did."""
    heard_s: float
    """When the controller had it."""
    read_s: float
    """When the last partition was read again."""


def eventually(condition: Callable[[], object], within_s: float = 120.0) -> None:
    deadline_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline_s, f"not within {within_s:g} s"
        time.sleep(LOOK_S)


@dataclass(frozen=True, slots=True)
class Bench:
    group: LightPods
    watch: PodWatch
    orders: tuple[TopicPartition, ...]

    def round(self, what: str) -> Iterator[Kill]:
        """A crash of a process, or the first crash of a pod, and its second one if it has got partitions again."""
        group, saved = self.group, self.group.saved()
        victim = max(saved, key=lambda number: len(saved[number]))
        if what == "process":
            yield self._kill(victim, PROCESS, partial(os.kill, group.running()[victim], signal.SIGKILL))
            self.settle()
            return self.work(STABLE_AFTER_S)
        pod = group.pod(victim)
        yield self._kill(victim, FIRST, partial(group.crash_container, victim))
        group.wait_until(lambda: container(group.pod(victim)).restartCount == 1 and is_ready(group.pod(victim)))
        self.settle()
        if group.saved()[victim]:
            yield self._kill(victim, SECOND, partial(group.crash_container, victim))
        group.delete_pod(name_of(pod))
        group.wait_until(lambda: is_replaced(group, victim, uid_of(pod)))
        return self.settle()

    def settle(self) -> None:
        self.group.wait_until(lambda: self.group.stage() == "Sentinel" and len(self.group.running()) == 2)
        self.work(self.group.settled_s)
        time.sleep(REPORTED_S)

    def work(self, for_s: float) -> None:
        """A few records each second, until all are stored."""
        until_s = time.monotonic() + for_s
        while True:
            self.group.produce(self.orders, each=3)
            time.sleep(1.0)
            if time.monotonic() >= until_s:
                break
        self.group.wait_until(self.group.has_all)

    def _kill(self, victim: int, crash: str, kill: Callable[[], None]) -> Kill:
        group, pod = self.group, self.group.pod(victim)
        held, crashes = len(group.saved()[victim]), container(pod).restartCount
        killed_s = time.monotonic()
        kill()
        group.produce(self.orders, each=3)
        group.wait_until(group.has_all)
        read_s = time.monotonic()
        shown_s, heard_s = self.watch.ended_s(pod, crashes + 1), group.crash_heard_s(victim)
        return Kill(crash, held, *(each_s - killed_s for each_s in (shown_s, heard_s, read_s)))


def is_replaced(group: LightPods, consumer: int, uid: str) -> bool:
    """Whether another pod of the consumer is ready, and the only one."""
    pods = group.pods_of(consumer)
    return len(pods) == 1 and uid_of(pods[0]) != uid and is_ready(pods[0])


def measured(pipeline: str, what: str, rounds: int) -> list[Kill]:
    with ExitStack() as running:
        tools = control_plane_tools()
        control_plane = running.enter_context(ControlPlane(tools.hyperkube, tools.etcd))
        node = running.enter_context(Node(control_plane, node_tools()))
        directory = running.enter_context(temporary("takeover"))
        kafka = Kafka(running.enter_context(EmbeddedKafka()).bootstrap)
        admin = running.enter_context(Admin(kafka))
        control_plane.make_namespace(namespace := f"takeover-{uuid.uuid4().hex[:8]}")
        client = running.enter_context(control_plane.admin(namespace))
        place = Place(control_plane, node, namespace, client)
        group = KINDS[pipeline](place, kafka, admin, "takeover", directory, eventually)
        running.callback(group.end)
        watch = running.enter_context(closing(PodWatch(control_plane.admin(namespace))))
        bench = Bench(group, watch, group.topic("orders", PARTITIONS))
        start(bench)
        kills: list[Kill] = []
        for number in range(rounds):
            for kill in bench.round(what):
                kills.append(kill)
                say(f"round {number + 1}: {words_of(kill)}")
        group.audit()
    return kills


def start(bench: Bench) -> None:
    group, orders = bench.group, bench.orders
    group.update(ServiceUpdate("consumers", consumers=ConsumerSettings(least_consumers=2)))
    group.produce(orders)
    group.measure(dict.fromkeys(orders, SHARE))
    group.apply()
    group.settle(orders, consumers=2)
    bench.work(WORK_S)
    time.sleep(REPORTED_S)


def words_of(kill: Kill) -> str:
    words = f"{kill.partitions} partitions read again after {kill.read_s:.2f} s"
    if kill.crash == PROCESS:
        return words
    return f"{words}; the crash shown after {kill.shown_s:.2f} s, heard by the controller after {kill.heard_s:.2f} s"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pipeline", choices=sorted(KINDS), default="light")
    parser.add_argument(
        "--kill",
        choices=KILLS,
        default="container",
        help="all of the container (the default), or the process of a light consumer alone",
    )
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--into", action="store_true", help="write the figures into docs/handover.md")
    args = parser.parse_args()
    if args.kill == "process" and args.pipeline != "light":
        parser.error("only a light consumer has a parent in its container, which starts it again")
    kills = measured(args.pipeline, args.kill, args.rounds)
    by_crash = {
        crash: some for crash in (PROCESS, FIRST, SECOND) if (some := [each for each in kills if each.crash == crash])
    }
    target_s = TARGETS_S[args.pipeline]
    lines = [line for crash, some in by_crash.items() for line in lines_of(args.pipeline, crash, some, target_s)]
    for line in lines:
        say(line)
    if args.into:
        begin, end = (mark.format(f"{args.pipeline} {args.kill}") for mark in MARKS)
        write_between_marks(PAGE, "".join(f"    {line}\n" for line in lines), begin, end)
    return int(any(quantile(sorted(each.read_s for each in some), 0.99) > target_s for some in by_crash.values()))


def lines_of(pipeline: str, crash: str, kills: Sequence[Kill], target_s: float) -> Iterator[str]:
    p50, p99 = quantiles([each.read_s for each in kills])
    missed = "" if p99 <= target_s else ", MISSED"
    moved = sum(each.partitions for each in kills)
    yield (
        f"{pipeline}, {crash}: {len(kills)} kills, {moved} partitions, read again after {p50:.2f} s "
        f"(p50), {p99:.2f} s (p99); the target is {target_s:g} s (p99){missed}"
    )
    if crash == PROCESS:
        return
    for what, times_s in (
        ("from the kill until the API server shows it", [each.shown_s for each in kills]),
        ("from there to the controller", [each.heard_s - each.shown_s for each in kills]),
        ("from there until the partitions are read again", [each.read_s - each.heard_s for each in kills]),
    ):
        p50, p99 = quantiles(times_s)
        yield f"    {what}: {p50:.2f} s (p50), {p99:.2f} s (p99)"


def quantiles(times_s: Sequence[float]) -> tuple[float, float]:
    p50, p99 = (quantile(sorted(times_s), share) for share in (0.5, 0.99))
    return p50, p99


if __name__ == "__main__":
    sys.exit(main())
