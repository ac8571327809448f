"""A broker that requires TLS, a client certificate and a password: the pipeline works, and prints no secret."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.kubernetes.cluster.authority import Authority
from tests.support.spark.project import Project, rows_of

from restow.kafka.admin import Admin
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.kafka.topics import wait_until_shown
from restow.settings import ClientProperties, Kafka

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

TOPIC = "orders"
PASSWORD = "s3cret-of-restow"
LOGIN = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_restow="{PASSWORD}";'


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    directory = tmp_path_factory.mktemp("secured")
    authority = Authority(directory / "certificates")
    server, client = authority.certificate("broker"), authority.certificate("restow")
    store = directory / "broker.pem"
    store.write_text(server.key.read_text() + server.certificate.read_text())
    guarded = {
        "listener.security.protocol.map": "CLIENTS:SASL_SSL,NODES:PLAINTEXT,QUORUM:PLAINTEXT",
        "listener.name.clients.ssl.keystore.type": "PEM",
        "listener.name.clients.ssl.keystore.location": str(store),
        "listener.name.clients.ssl.truststore.type": "PEM",
        "listener.name.clients.ssl.truststore.location": str(authority.root.certificate),
        "listener.name.clients.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.clients.plain.sasl.jaas.config": LOGIN,
    }
    with EmbeddedKafka(server=guarded) as broker:
        properties = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "restow",
            "sasl.password": PASSWORD,
            "ssl.ca.location": str(authority.root.certificate),
            "ssl.certificate.location": str(client.certificate),
            "ssl.key.location": str(client.key),
        }
        yield Kafka(broker.bootstrap, ClientProperties(properties))


@pytest.fixture
def project(secured: Kafka, tmp_path: Path) -> Project:
    with Admin(secured) as admin:
        admin.create_topic(TOPIC, 2)
        wait_until_shown(admin, {TOPIC: 2})
    return Project(secured, TOPIC, tmp_path)


def test_a_secured_broker_is_read_and_no_secret_is_printed(project: Project) -> None:
    project.configure(
        f'[consume.{TOPIC}]\ntable = "lake/doubled"\ntransform = "shop:doubled"\n'
        '[consume.other]\ntransform = "shop:nothing"\n'
    )
    project.write(10)
    checked = project.restow("check")
    assert "10 records became 10 rows" in checked.stdout
    once = project.restow("consume", "--topics", TOPIC, "--once", "--json")
    assert once.returncode == 0, once.stderr
    assert json.loads(once.stdout)["records"] == 10
    expected = [(number, copy) for number in range(0, 10, 2) for copy in ("a", "b")]
    assert sorted(rows_of(project.directory / "lake" / "doubled", "number, copy")) == expected
    project.configure(
        f'[consume.{TOPIC}]\ntable = "lake/checked"\ntransform = "shop:never_seven"\non_bad_record = "stop"\n'
    )
    project.write(10)
    failed = project.restow("consume", "--topics", TOPIC, "--once")
    assert failed.returncode == 1
    assert "fails on orders-1 at offset 8: ValueError: a seven" in failed.stderr
    wrong = Kafka(project.kafka.bootstrap, ClientProperties({**project.kafka.properties, "sasl.password": "a guess"}))
    Project(wrong, TOPIC, project.directory).configure(f'[consumer]\npipeline = "light"\n[consume.{TOPIC}]\n')
    rejected = project.restow("check")
    assert rejected.returncode == 1
    assert "wrong    brokers: " in rejected.stdout
    assert "rejects our credentials" in rejected.stdout
    for output in (checked, once, failed, rejected):
        assert PASSWORD not in output.stdout + output.stderr
        assert "PRIVATE KEY" not in output.stdout + output.stderr
