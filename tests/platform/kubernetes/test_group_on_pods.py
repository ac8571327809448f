"""A whole group on pods: a real controller, real light consumers, a real kubelet.

Each test is one long scenario, because every step is harder after the ones before it.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lightkube import Client
from tests.support.kubernetes.cluster.control_plane import ControlPlane
from tests.support.kubernetes.cluster.node import Node
from tests.support.kubernetes.groups import Place, PodGroup, container, ended, uid_of
from tests.support.live_groups import Eventually

from restow.kafka.admin import Admin
from restow.model import SortedMapping, TopicPartition
from restow.platform.interface import CreateConsumer, RestartConsumer
from restow.platform.processes.linux import process
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.messages.service import ServiceUpdate
from restow.roles.respawn import STABLE_AFTER_S
from restow.settings import Kafka
from restow.throughput.usage import TICKS_PER_S

Partitions = tuple[TopicPartition, ...]


@pytest.fixture
def group(
    control_plane: ControlPlane,
    node: Node,
    namespace: str,
    client: Client,
    kafka: Kafka,
    admin: Admin,
    prefix: str,
    tmp_path: Path,
    eventually: Eventually,
) -> Iterator[PodGroup]:
    place = Place(control_plane, node, namespace, client)
    group = PodGroup(place, kafka, admin, prefix, tmp_path, eventually)
    yield group
    group.end()


def test_a_group_grows_without_its_controller_rolls_crashes_and_shrinks_and_stores_everything_once(
    group: PodGroup,
) -> None:
    orders = group.topic("orders", 4)
    group.produce(orders)
    group.measure(dict.fromkeys(orders, 0.1))
    group.apply()
    group.settle(orders, consumers=1)
    it_grows_while_its_controller_is_killed(group, orders)
    consumers_have_names_and_claims(group)
    it_rolls_one_consumer_at_a_time(group, orders)
    a_killed_consumer_claims_what_its_checkpoint_has(group, orders)
    it_shrinks_and_the_deleted_consumer_ends_cleanly(group, orders)
    group.produce(orders)
    group.audit()


def it_grows_while_its_controller_is_killed(group: PodGroup, orders: Partitions) -> None:
    [first] = group.running()
    process = group.running()[first]
    os.kill(process, signal.SIGSTOP)  # it releases nothing, so that the move lasts until it continues
    group.measure(dict.fromkeys(orders, 0.4))
    group.wait_until(lambda: len(group.running()) == 2 and group.stage() == "Manage")
    group.crash_controller()
    os.kill(process, signal.SIGCONT)
    group.produce(orders)
    group.settle(orders, consumers=2)
    assert group.stage(controller=0) == "Manage"
    assert group.running()[first] == process
    created = [effect for step in group.replayed() for effect in step.effects if isinstance(effect, CreateConsumer)]
    assert created == []  # the consumer that was being created was found


def consumers_have_names_and_claims(group: PodGroup) -> None:
    names = {number: f"{group.name}-consumer-{number}" for number in group.running()}
    assert {number: group.variable(number, "RESTOW_CONSUMER") for number in names} == names
    assert group.claims() == dict.fromkeys(names.values(), "Bound")
    group.wait_until(lambda: all(container(group.pod(number)).ready for number in names))
    for number in names:
        ready = f'restow_ready{{consumer="{number}",group="{group.name}",role="consumer"}} 1.0'
        assert ready in group.metrics(group.pod(number))
    [controller] = group.pods("controller")
    group.wait_until(lambda: f'restow_consumers{{group="{group.name}",phase="ready"}} 2.0' in group.metrics(controller))


def it_rolls_one_consumer_at_a_time(group: PodGroup, orders: Partitions) -> None:
    before = {number: uid_of(group.pod(number)) for number in group.running()}
    held = {number: sorted(positions) for number, positions in group.saved().items()}
    settings = ConsumerSettings(env=SortedMapping({"GREETING": "hello"}))
    group.update(ServiceUpdate("consumers", consumers=settings))
    group.produce(orders)
    group.wait_until(lambda: [group.variable(number, "GREETING") for number in before] == ["hello"] * 2)
    group.settle(orders, consumers=2)
    assert {number: sorted(positions) for number, positions in group.saved().items()} == held
    assert not set(before.values()) & {uid_of(group.pod(number)) for number in before}
    steps = group.replayed()
    assert max(step.after.rolling for step in steps) == 1
    effects = [effect for step in steps for effect in step.effects]
    assert [effect.consumer for effect in effects if isinstance(effect, RestartConsumer)] == list(before)
    assert [group.returns(number)[-1].clean for number in before] == [True, True]


def a_killed_consumer_claims_what_its_checkpoint_has(group: PodGroup, orders: Partitions) -> None:
    first, *_ = group.running()
    pod = group.pod(first)
    group.wait_until(lambda: age_s(group.running()[first]) > STABLE_AFTER_S)  # else its container ends with it
    it_comes_back_and_claims(group, orders, first, lambda: os.kill(group.running()[first], signal.SIGKILL))
    assert container(group.pod(first)).restartCount == 0  # its parent in the container has started it again
    it_comes_back_and_claims(group, orders, first, lambda: group.crash_container(first))
    group.wait_until(lambda: container(group.pod(first)).restartCount == 1)  # the kubelet reports it a little later
    assert uid_of(group.pod(first)) == uid_of(pod)


def age_s(number: int) -> float:
    found = process(number)
    return 0.0 if found is None else time.clock_gettime(time.CLOCK_BOOTTIME) - found.started / TICKS_PER_S


def it_comes_back_and_claims(group: PodGroup, orders: Partitions, consumer: int, crash: Callable[[], None]) -> None:
    held, times = sorted(group.saved()[consumer]), len(group.returns(consumer))
    crash()
    group.produce(orders)
    group.wait_until(lambda: len(group.returns(consumer)) > times)
    returned = group.returns(consumer)[-1]
    assert (returned.clean, returned.partitions, sorted(returned.claims)) == (False, (), held)
    group.settle(orders, consumers=2)


def it_shrinks_and_the_deleted_consumer_ends_cleanly(group: PodGroup, orders: Partitions) -> None:
    both = list(group.running())
    group.hold_pods(*both)
    group.measure(dict.fromkeys(orders, 0.1))
    group.wait_until(lambda: len(group.running()) == 1)
    [gone] = set(both) - set(group.running())
    group.wait_until(lambda: ended(group.pod(gone)) is not None)
    assert ended(group.pod(gone)) == 0
    assert group.is_clean(gone)
    assert group.reported_gone() == []  # not while its pod object is left
    group.release_pods()
    group.wait_until(lambda: group.reported_gone() == [gone])
    group.settle(orders, consumers=1)
    assert list(group.claims().values()) == ["Bound", "Bound"]
