"""With exactly the rights that `restow manifests` lists, a whole group works, and it uses each of them.

The broker's own log of what its authorizer decided tells which rights were asked for.
"""

import logging
import re
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from restow.cli import main
from restow.controller.journal import Journal
from restow.health import Health
from restow.kafka.acls import Acl, acls, literal_start
from restow.kafka.admin import Admin
from restow.kafka.channels.history import read_history
from restow.kafka.channels.services import write_service
from restow.kafka.channels.status import StatusReader
from restow.kafka.channels.status_history import read_status
from restow.kafka.clients import make_admin_client, make_consumer, make_producer
from restow.kafka.embedded import node
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.kafka.topics import ensure_topics, wait_until_shown
from restow.model import ConsumerId
from restow.picture.parts import Assembler
from restow.platform.processes.ending import end_group
from restow.platform.processes.platform import LocalProcesses
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.messages.desired import RecommendOnly
from restow.roles.controller import ControllerProcess
from restow.roles.monitor import Monitor
from restow.settings import Settings, Topics, read_settings

Eventually = Callable[..., None]
Asked = tuple[str, str, str, str]
"""A role, an operation, a kind of thing, its name."""

ROLES = ("monitor", "controller", "consumer", "page", "operator")
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required " + " ".join(
    f'user_{name}="of-{name}"' for name in (*ROLES, "root")
)
GUARDED = {
    "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,NODES:PLAINTEXT,QUORUM:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.clients.plain.sasl.jaas.config": f"{LOGIN};",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:root;User:ANONYMOUS",  # nodes speak to each other without a name
}
RESOURCES = {
    "Topic": ResourceType.TOPIC,
    "Group": ResourceType.GROUP,
    "TransactionalId": ResourceType.TRANSACTIONAL_ID,
    "Cluster": ResourceType.BROKER,  # as the client calls it
}
TELL_ALL = "logger.rights.name = kafka.authorizer.logger\nlogger.rights.level = debug\n"
DECIDED = re.compile(
    r"Principal = User:(\w+) is (Allowed|Denied) operation = (\w+) .* on resource = (\w+):LITERAL:(\S+)"
)
WHEN_ALLOWED = 'until [ -e "$0/go" ]; do sleep 0.1; done; exec "$@"'
"""Consumers begin when the test says so: before, the controller has to look up how old unread records are."""
TEXT = """
[kafka]
bootstrap = "{bootstrap}"
security.protocol = "SASL_PLAINTEXT"
sasl.mechanism = "PLAIN"
sasl.username = "{role}"
sasl.password = "of-{role}"
[group]
name = "lake"
[topics]
most_consumers = 2
[monitor]
topics = ["other"]
[consumer]
pipeline = "light"
cycle_s = 0.2
report_every_s = 0.5
[controller]
look_every_s = 1
[consume."^orders-.*"]
table = "{directory}/orders.db"
"""


@pytest.fixture(scope="module")
def guarded() -> Iterator[EmbeddedKafka]:
    """A broker that refuses everything that no ACL allows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node, "LOGGING", f"{node.LOGGING}{TELL_ALL}")
        with EmbeddedKafka(server=GUARDED) as kafka:
            yield kafka


def settings_of(role: str, kafka: EmbeddedKafka, directory: Path) -> Settings:
    text = TEXT.format(bootstrap=kafka.bootstrap, role=role, directory=directory)
    (directory / f"{role}.toml").write_text(text)
    return read_settings(text, f"{role}.toml", {})


def grant(client: AdminClient, granted: Sequence[Acl]) -> None:
    bindings = [
        AclBinding(
            RESOURCES[acl.kind],
            acl.name,
            ResourcePatternType.PREFIXED if acl.is_prefix else ResourcePatternType.LITERAL,
            f"User:{acl.role}",
            "*",
            AclOperation[in_capitals(operation)],
            AclPermissionType.ALLOW,
        )
        for acl in granted
        for operation in acl.operations
    ]
    for made in client.create_acls(bindings).values():
        made.result(30)


class Running:
    """The roles of a group, each by its own name."""

    def __init__(self, kafka: EmbeddedKafka, directory: Path) -> None:
        self.said: list[str] = []
        self._settings = {role: settings_of(role, kafka, directory) for role in ROLES}
        self._directory = directory
        self._over = {"monitor": threading.Event(), "controller": threading.Event()}
        self._threads: dict[str, threading.Thread] = {}

    def start(self, role: str) -> None:
        self._over[role].clear()
        work = {"monitor": self._measure, "controller": self._control}[role]
        self._threads[role] = threading.Thread(target=work)
        self._threads[role].start()

    def stop(self, role: str) -> None:
        self._over[role].set()
        if role in self._threads:
            self._threads[role].join()

    def end(self) -> None:
        for role in self._over:
            self.stop(role)
        end_group("lake", self._directory, 5.0, self.said.append)

    def _measure(self) -> None:
        with Monitor(self._settings["monitor"]) as monitor:
            monitor.run(self._over["monitor"].wait, Health(None))

    def _control(self) -> None:
        with Journal(self._directory / "events") as journal:
            platform = LocalProcesses("lake", self._directory, self._command, 5.0)
            controller = ControllerProcess(self._settings["controller"], platform, journal, Health(None))
            controller.run(self._over["controller"].wait)

    def _command(self, consumer: ConsumerId, volume: Path, _: ConsumerSettings) -> Sequence[str]:
        config, name = self._directory / "consumer.toml", f"lake-consumer-{consumer}"
        command = (sys.executable, "-m", "restow", "consumer", "--config", str(config))
        return ("sh", "-c", WHEN_ALLOWED, str(self._directory), *command, "--name", name, "--volume", str(volume))


@pytest.mark.kafka
def test_the_listed_rights_are_sufficient_and_all_are_used(
    guarded: EmbeddedKafka,
    tmp_path: Path,
    eventually: Eventually,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("restow.picture.publication.WHOLE_EVERY_S", 1.0)  # lookups are asked for with each picture
    caplog.set_level(logging.INFO, "restow")
    root = settings_of("root", guarded, tmp_path)
    needed = each_of(acls(root))
    grant(make_admin_client(root.kafka), acls(root))
    group = Running(guarded, tmp_path)
    with Admin(root.kafka) as admin:
        for topic in ("orders-1", "other"):
            admin.create_topic(topic, 1)
        wait_until_shown(admin, {"orders-1": 1, "other": 1})
    with Admin(settings_of("controller", guarded, tmp_path).kafka) as admin:
        ensure_topics(admin, Topics("lake", most_consumers=1))  # it makes them, and will have to grow them
    try:
        group.start("controller")
        eventually(lambda: "took over group lake: no controller was in charge" in caplog.messages, within_s=60)
        producer = make_producer(root.kafka)
        producer.produce("orders-1", b"an order", partition=0)
        assert producer.flush(30) == 0
        commit_offset(root)
        group.start("monitor")
        eventually(lambda: ("controller", "READ", "Topic", "orders-1") in decided(guarded, "Allowed"))
        (tmp_path / "go").touch()
        eventually(lambda: records_in(tmp_path / "orders.db") == 1, within_s=120)
        group.stop("controller")
        group.start("controller")  # the next one asks who has what
        operator = ["--config", str(tmp_path / "operator.toml")]
        eventually(lambda: main(["status", *operator]) == 0, within_s=60)
        assert main(["plan", *operator]) == 0
        assert main(["pause", "--for", "1h", *operator]) == 0
        assert main(["resume", *operator]) == 0
        look_and_act(settings_of("page", guarded, tmp_path), eventually)
        eventually(lambda: decided(guarded, "Allowed") >= needed, within_s=60)
    finally:
        group.end()
    assert decided(guarded, "Denied") == set()
    described = {(role, "DESCRIBE", kind, name) for role, _, kind, name in needed}  # as who reads or writes may
    assert decided(guarded, "Allowed") <= needed | described


def look_and_act(settings: Settings, eventually: Eventually) -> None:
    """As the page does: follows the picture, reads the last day and what was measured, and asks for something."""
    with StatusReader(settings, Assembler) as reader:
        eventually(lambda: reader.newest() is not None, within_s=60)
        assert reader.as_of(round(time.time() * 1000)) is not None
    assert sum(map(len, read_status(settings, since_ms=0))) > 0
    assert any(True for _ in read_history(settings, since_ms=0))
    write_service(settings, RecommendOnly(False), "page")


@pytest.mark.parametrize(
    ("expression", "start"),
    [
        ("^orders-.*", "orders-"),
        ("^orders", "orders"),
        (r"^shop\.eu-[a-z]+", "shop.eu-"),
        ("^ab*", "a"),
        ("^ab+", "ab"),
        ("^ab{2}", "a"),
        ("^.*-in", ""),
        ("^(a|b)", ""),
        ("^ab|cd", ""),
    ],
)
def test_the_common_prefix_of_an_expressions_names(expression: str, start: str) -> None:
    assert literal_start(expression) == start


def in_capitals(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()


def each_of(granted: Sequence[Acl]) -> set[Asked]:
    return {
        (acl.role, in_capitals(operation), acl.kind, "orders-1" if acl.is_prefix else acl.name)
        for acl in granted
        for operation in acl.operations
    }


def decided(kafka: EmbeddedKafka, how: str) -> set[Asked]:
    """Who was allowed or denied what."""
    [log] = kafka.logs
    found = DECIDED.findall(log.read_text())
    return {(who, what, kind, name) for who, decision, what, kind, name in found if decision == how and who in ROLES}


def commit_offset(root: Settings) -> None:
    """As a consumer of the group that is gone."""
    client = make_consumer(root.kafka, {"group.id": "lake"})
    client.commit(offsets=[Place("orders-1", 0, 0)], asynchronous=False)
    client.close()


def records_in(table: Path) -> int:
    if not table.exists():
        return 0
    with closing(sqlite3.connect(table)) as database:
        try:
            return int(database.execute("SELECT count(*) FROM records").fetchone()[0])
        except sqlite3.OperationalError:  # it is just being made
            return 0
