"""On a Kafka with authorization the monitor logs each right that is missing and measures the rest, and so do the
controller's lookups for the picture. Wrong credentials end a role at its start."""

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from tests.support.monitor_watching import LOOKS, Watch, created

from restow.cli.main import main
from restow.cli.support.group_watch import watched
from restow.controller.journal import Journal
from restow.errors import InvalidInput
from restow.health import Health
from restow.kafka import record_sizes
from restow.kafka.admin import Admin
from restow.kafka.clients import make_admin_client, make_consumer, make_producer
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.kafka.errors import NotAllowed
from restow.kafka.groups import Groups
from restow.kafka.sampler import Interest, Sampler
from restow.model import Retention
from restow.monitor.meter import Meter
from restow.picture.questions import Answers, Questions
from restow.platform.processes.platform import LocalProcesses
from restow.roles.controller import ControllerProcess
from restow.roles.lookups import Lookups
from restow.roles.monitor import Monitor
from restow.settings import ClientProperties, Group, Kafka, Settings

pytestmark = pytest.mark.kafka

USERS = 'user_owner="open-sesame" user_restow="read-only"'
PRINCIPAL = "User:restow"
JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@pytest.fixture(scope="module")
def guarded() -> Iterator[tuple[Kafka, Kafka]]:
    """A Kafka with SASL and ACLs: settings for its super user, and for restow, whose rights each test grants."""
    server = {
        "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,NODES:PLAINTEXT,QUORUM:PLAINTEXT",
        "listener.name.clients.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.clients.plain.sasl.jaas.config": f"{JAAS} {USERS};",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:owner",
    }
    with EmbeddedKafka(server=server) as broker:
        common = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
        owner = {**common, "sasl.username": "owner", "sasl.password": "open-sesame"}
        restow = {**common, "sasl.username": "restow", "sasl.password": "read-only"}
        yield Kafka(broker.bootstrap, ClientProperties(owner)), Kafka(broker.bootstrap, ClientProperties(restow))


@dataclass
class Rights:
    client: AdminClient

    def grant(self, kind: ResourceType, name: str, right: AclOperation) -> None:
        literal, allow = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
        [done] = self.client.create_acls([AclBinding(kind, name, literal, PRINCIPAL, "*", right, allow)]).values()
        done.result()

    def revoke(self, kind: ResourceType, name: str, right: AclOperation) -> None:
        literal, allow = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
        [done] = self.client.delete_acls([AclBindingFilter(kind, name, literal, PRINCIPAL, "*", right, allow)]).values()
        done.result()


def test_a_size_that_may_not_be_read_is_estimated_from_the_records(
    guarded: tuple[Kafka, Kafka], prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    owner, restow = guarded
    rights = Rights(make_admin_client(owner))
    with Admin(owner) as admin, Admin(restow) as as_restow:
        partition = created(admin, prefix)
        rights.grant(ResourceType.TOPIC, prefix, AclOperation.DESCRIBE)
        rights.grant(ResourceType.TOPIC, prefix, AclOperation.DESCRIBE_CONFIGS)
        rights.grant(ResourceType.BROKER, "kafka-cluster", AclOperation.DESCRIBE)
        watch = Watch.of(owner, admin, prefix)
        watch.sampler = Sampler(as_restow, Interest([prefix]))
        watch.look_until(lambda speeds: partition in speeds)
        for _ in range(3):
            watch.write({partition: 50})
            assert not watch.look()[partition].estimated
        rights.revoke(ResourceType.BROKER, "kafka-cluster", AclOperation.DESCRIBE)
        watch.look_until(lambda speeds: speeds[partition].size_bytes is None)
        watch.write({partition: 50})
        estimate = watch.look()[partition]
        assert (estimate.size_bytes, estimate.estimated, estimate.end_offset) == (None, True, 200)
        assert [line.partition(";")[0] for line in caplog.messages] == [
            "can't read the sizes of logs: the right Describe on the cluster is missing"
        ]
        assert caplog.messages[0].endswith("; until then speeds are estimated from the records")


def test_without_any_log_size_records_are_read_to_learn_their_size(
    guarded: tuple[Kafka, Kafka], prefix: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "restow")
    monkeypatch.setattr(record_sizes, "AGAIN_AFTER_S", 0.0)
    owner, restow = guarded
    rights = Rights(make_admin_client(owner))
    with Admin(owner) as admin, Admin(restow) as as_restow:
        partition = created(admin, prefix, 2)
        rights.grant(ResourceType.TOPIC, prefix, AclOperation.DESCRIBE)
        rights.grant(ResourceType.TOPIC, prefix, AclOperation.DESCRIBE_CONFIGS)
        watch = Watch.of(owner, admin, prefix)
        watch.sampler = Sampler(as_restow, Interest([prefix]))
        watch.look_until(lambda speeds: partition in speeds)
        watch.write({partition: 50})
        refused = f"can't read records of {prefix} to learn their size: the right Read on the topic {prefix} is missing"
        for _ in range(LOOKS):
            watch.sampler.sample()
            if len(caplog.messages) > 1:
                break
        assert [line.partition(";")[0] for line in caplog.messages] == [
            "can't read the sizes of logs: the right Describe on the cluster is missing",
            refused,
        ]
        rights.grant(ResourceType.TOPIC, prefix, AclOperation.READ)
        for _ in range(LOOKS):
            watch.write({partition: 1})
            if watch.sampler.sample().record_bytes:
                break
        watch.meter = Meter()  # what it took in before, it could not know
        watch.look()
        watch.write({partition: 50})
        speed = watch.look()[partition]
        assert speed.bytes_per_s > 0
        assert (speed.size_bytes, speed.estimated) == (None, True)
        assert caplog.messages[2:] == ["the size of records can be read again"]


def test_a_topic_without_the_right_describe_is_logged_and_the_others_are_measured(
    guarded: tuple[Kafka, Kafka], prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    owner, restow = guarded
    rights = Rights(make_admin_client(owner))
    with Admin(owner) as admin, Admin(restow) as as_restow:
        seen, hidden = created(admin, f"{prefix}-seen"), created(admin, f"{prefix}-hidden")
        rights.grant(ResourceType.TOPIC, seen.topic, AclOperation.DESCRIBE)
        rights.grant(ResourceType.TOPIC, seen.topic, AclOperation.DESCRIBE_CONFIGS)
        rights.grant(ResourceType.BROKER, "kafka-cluster", AclOperation.DESCRIBE)
        sampler = Sampler(as_restow, Interest([seen.topic, hidden.topic]))
        for _ in range(LOOKS):
            if sampler.sample().partitions == (seen,):
                break
        assert sampler.sample().partitions == (seen,)
        missing = f"there is no topic {hidden.topic}, or the right Describe on it is missing; the others are measured"
        assert caplog.messages[-1] == missing


def test_a_cleanup_policy_that_may_not_be_read_is_logged_once_and_the_monitor_goes_on(
    guarded: tuple[Kafka, Kafka], prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    owner, restow = guarded
    rights = Rights(make_admin_client(owner))
    with Admin(owner) as admin, Admin(restow) as as_restow:
        compacted = {"cleanup.policy": "compact,delete"}
        partitions = [created(admin, f"{prefix}-{name}", settings=compacted) for name in ("a", "b")]
        for partition in partitions:
            rights.grant(ResourceType.TOPIC, partition.topic, AclOperation.DESCRIBE)
        rights.grant(ResourceType.BROKER, "kafka-cluster", AclOperation.DESCRIBE)
        watch = Watch.of(owner, admin)
        watch.sampler = Sampler(as_restow, Interest([f"^{prefix}-.*"]))
        watch.look_until(lambda speeds: list(speeds) == partitions)
        watch.write(dict.fromkeys(partitions, 50))
        assert [speed.end_offset for speed in watch.look().values()] == [50, 50]
        assert watch.last is not None
        assert watch.last.compacted.tolist() == [False, False]
        first = partitions[0].topic
        missing = f"can't read the configuration of {first}: the right DescribeConfigs on the topic {first} is missing"
        assert caplog.messages == [
            (
                f"{missing}; grant it to the principal in [kafka] (and for 1 more); until then compacted topics are "
                "measured as if they weren't"
            )
        ]
        assert admin.cleanup_policies([f"{prefix}-a"]) == {f"{prefix}-a": "compact,delete"}


def test_rights_that_only_the_picture_needs_are_logged_once_and_used_when_they_are_granted(
    guarded: tuple[Kafka, Kafka],
    prefix: str,
    caplog: pytest.LogCaptureFixture,
    eventually: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("restow.roles.lookups.FORBIDDEN_FOR_S", 0.0)
    owner, restow = guarded
    rights = Rights(make_admin_client(owner))
    with Admin(owner) as admin:
        partition = created(admin, f"{prefix}-a")
    producer = make_producer(owner)
    producer.produce(partition.topic, b"an order", partition=0)
    assert producer.flush(60) == 0
    rights.grant(ResourceType.TOPIC, partition.topic, AclOperation.DESCRIBE)
    questions = Questions({partition: 0}, (), (partition.topic,))
    lookups = Lookups(Settings(restow, Group(prefix)))
    lookups.start()
    found: list[Answers] = []

    def has_answered() -> bool:
        answer = lookups.answers()
        found.extend([] if answer is None else [answer])
        return answer is not None

    def answers() -> Answers:
        eventually(has_answered)
        return found[-1]

    try:
        assert answers() == Answers(), "no history may be read"
        for _ in range(2):
            assert lookups.ask(questions)
            assert answers() == Answers(questions)
        warned = [record.message for record in caplog.records if record.levelname == "WARNING"]
        assert sorted(line.split("; until then ")[1] for line in warned) == [
            "margins to retention are not known",
            "seconds behind are not known where they exceed five minutes",
        ]
        rights.grant(ResourceType.TOPIC, partition.topic, AclOperation.READ)
        rights.grant(ResourceType.TOPIC, partition.topic, AclOperation.DESCRIBE_CONFIGS)
        eventually(lambda: lookups.ask(questions) and answers().records and found[-1].retentions)
        assert found[-1].records[partition].offset == 0
        assert found[-1].retentions == {partition.topic: Retention(7 * 86400.0)}
    finally:
        lookups.close()


@contextmanager
def being_written(kafka: Kafka, topic: str) -> Iterator[None]:
    """Another thread writes to both partitions of the topic, again and again."""
    is_over = threading.Event()

    def write() -> None:
        producer = make_producer(kafka)
        while not is_over.wait(0.02):
            for partition in (0, 0, 0, 1):
                producer.produce(topic, b"o" * 1000, partition=partition)
            assert producer.flush(60) == 0

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def test_who_may_only_describe_and_read_gets_advice_about_any_group_and_changes_nothing(
    guarded: tuple[Kafka, Kafka],
    prefix: str,
    eventually: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    owner, restow = guarded
    rights, group = Rights(make_admin_client(owner)), f"{prefix}-plain"
    with Admin(owner) as admin:
        created(admin, prefix, 2)
    own = {"group.id": group, "auto.offset.reset": "earliest", "auto.commit.interval.ms": 100, "client.id": "billing"}
    member = make_consumer(owner, own)
    monkeypatch.setenv("KAFKA_PASSWORD", "read-only")
    properties = {
        **{name: value for name, value in restow.properties.items() if name != "sasl.password"},
        "sasl.password": "${KAFKA_PASSWORD}",
    }
    given = [word for name, value in properties.items() for word in ("--property", f"{name}={value}")]
    command = ["advise", "--group", group, "--bootstrap", restow.bootstrap, *given, "--for", "1s", "--json"]
    member.subscribe([prefix])
    with being_written(owner, prefix):
        eventually(lambda: member.poll(0.1) is not None and len(Groups(owner).committed(group)) == 2)
        assert main(command) == 1
        assert f"the right Describe on the group {group} is missing; grant it" in capsys.readouterr().err
        rights.grant(ResourceType.GROUP, group, AclOperation.DESCRIBE)
        rights.grant(ResourceType.TOPIC, prefix, AclOperation.DESCRIBE)
        rights.grant(ResourceType.TOPIC, prefix, AclOperation.READ)
        before = Groups(owner).describe(group)
        assert main(command) == 0, capsys.readouterr().err
    found = json.loads(capsys.readouterr().out)
    assert Groups(owner).describe(group) == before
    member.close()
    assert (found["group"], found["state"], found["protocol"]) == (group, "stable", "classic")
    [only] = found["members"]
    assert (only["client"], only["partitions"]) == ("billing", [f"{prefix}-0", f"{prefix}-1"])
    assert found["totals"]["records_per_s"] > 0
    assert found["skew"]["fastest_partition"] == f"{prefix}-0"
    assert [each["way"] for each in found["ways"]][-1] == "restow"
    with pytest.raises(InvalidInput, match=f"there is no consumer group {prefix}-plan on .*; did you mean {group}"):
        watched(owner, f"{prefix}-plan", (), seconds=1.0)


def never(seconds: float) -> bool:
    time.sleep(seconds)
    return False


def test_rejected_credentials_end_controller_and_monitor_at_their_start(
    guarded: tuple[Kafka, Kafka], prefix: str, tmp_path: Path
) -> None:
    _, restow = guarded
    wrong = Kafka(restow.bootstrap, ClientProperties({**restow.properties, "sasl.password": "guessed"}))
    settings = Settings(wrong, Group(prefix))
    rejected = f"{wrong.bootstrap} rejects our credentials"
    with Monitor(settings) as monitor, pytest.raises(NotAllowed, match=rejected):
        monitor.run(never, Health())
    platform = LocalProcesses("shop", tmp_path, lambda *_: ("true",), grace_s=1.0)
    with Journal(tmp_path / "events") as journal, pytest.raises(NotAllowed, match=rejected):
        ControllerProcess(settings, platform, journal, Health()).run(never)


def test_a_missing_right_ends_the_monitor_at_its_start(guarded: tuple[Kafka, Kafka], prefix: str) -> None:
    _, restow = guarded
    missing = f"the right Create on the topic {prefix}-monitor is missing"
    with Monitor(Settings(restow, Group(prefix))) as monitor, pytest.raises(NotAllowed, match=missing):
        monitor.sample()
