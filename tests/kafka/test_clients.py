"""Properties reach every client: a broker that wants TLS, a name and a password, and grants rights one by one, is the
judge. Its certificate is made by Java's own keytool."""

import logging
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from restow.errors import InvalidInput
from restow.java.runtime import find_java
from restow.kafka.admin import Admin
from restow.kafka.clients import librdkafka, make_consumer, make_producer, properties_of
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.kafka.errors import NoAnswer, NotAllowed
from restow.kafka.topics import ensure_topics, wait_until_shown
from restow.settings import ClientProperties, Kafka, Topics

JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required"
USERS = 'user_owner="open-sesame" user_guest="guest-word"'


@dataclass(frozen=True)
class Secured:
    owner: Kafka
    guest: Kafka


def certificate(directory: Path) -> tuple[Path, Path]:
    """A key store for the broker, and what its clients are to trust."""
    keytool = find_java().resolve().parent / "keytool"
    store, trusted = directory / "broker.p12", directory / "trusted.pem"
    common = ["-keystore", str(store), "-storepass", "changeit", "-alias", "broker"]
    make = ["-genkeypair", "-keyalg", "EC", "-dname", "CN=broker", "-ext", "SAN=ip:127.0.0.1", "-storetype", "PKCS12"]
    subprocess.run([keytool, *make, *common], check=True, capture_output=True)
    subprocess.run([keytool, "-exportcert", "-rfc", "-file", str(trusted), *common], check=True, capture_output=True)
    return store, trusted


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """The owner may do anything. The guest may do nothing."""
    store, trusted = certificate(tmp_path_factory.mktemp("tls"))
    server = {
        "listener.security.protocol.map": "CLIENTS:SASL_SSL,NODES:PLAINTEXT,QUORUM:PLAINTEXT",
        "listener.name.clients.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.clients.plain.sasl.jaas.config": f"{JAAS} {USERS};",
        "listener.name.clients.ssl.keystore.location": str(store),
        "listener.name.clients.ssl.keystore.password": "changeit",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:owner;User:ANONYMOUS",
    }
    with EmbeddedKafka(server=server) as broker:
        common = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "ssl.ca.location": str(trusted),
            "auto.offset.reset": "earliest",
            "linger.ms": "1",
        }
        yield Secured(
            owner=Kafka(
                broker.bootstrap, ClientProperties({**common, "sasl.username": "owner", "sasl.password": "open-sesame"})
            ),
            guest=Kafka(
                broker.bootstrap, ClientProperties({**common, "sasl.username": "guest", "sasl.password": "guest-word"})
            ),
        )


@pytest.mark.kafka
def test_every_client_connects_with_the_users_properties(secured: Secured, prefix: str) -> None:
    with Admin(secured.owner) as admin:
        admin.create_topic(prefix, 1)
        wait_until_shown(admin, {prefix: 1})
        producer = make_producer(secured.owner)
        producer.produce(prefix, b"hello")
        assert producer.flush(30) == 0
        consumer = make_consumer(secured.owner, {"group.id": prefix})
        consumer.subscribe([prefix])
        [record] = consumer.consume(1, timeout=30)
        consumer.close()
        assert record.value() == b"hello"
        assert [size > 0 for size in admin.log_sizes(1, [prefix]).values()] == [True]


@pytest.mark.kafka
def test_a_missing_right_is_named_with_its_topic(secured: Secured, prefix: str) -> None:
    with Admin(secured.guest) as admin:
        with pytest.raises(NotAllowed) as caught:
            ensure_topics(admin, Topics(prefix))
        assert str(caught.value) == (
            f"can't create the topic {prefix}-monitor: the right Create on the topic {prefix}-monitor is missing; "
            "grant it to the principal in [kafka]"
        )
        with pytest.raises(NotAllowed) as caught:
            admin.grow_topic(prefix, 3)
        assert str(caught.value) == (
            f"can't grow the topic {prefix} to 3 partitions: the right Alter on the topic {prefix} is missing; "
            "grant it to the principal in [kafka]"
        )
        with pytest.raises(NotAllowed) as caught:
            admin.log_sizes(1)
        assert str(caught.value) == (
            "can't read the sizes of logs: the right Describe on the cluster is missing; grant it to the principal in "
            "[kafka]"
        )


@pytest.mark.kafka
def test_a_wrong_password_is_reported_and_never_shown(secured: Secured) -> None:
    wrong = replace(
        secured.owner, properties=ClientProperties({**secured.owner.properties, "sasl.password": "open-barley"})
    )
    with Admin(wrong, answer_within_s=3) as admin:
        with pytest.raises(NotAllowed) as caught:
            admin.cluster()
        with pytest.raises(NoAnswer) as other:
            admin.log_sizes(1)
    assert str(caught.value).startswith(f"{wrong.bootstrap} rejects our credentials: ")
    assert "open-barley" not in str(caught.value) + str(other.value) + repr(wrong)


def test_restows_own_properties_win() -> None:
    kafka = Kafka("one:9092", ClientProperties({"enable.auto.commit": True, "client.id": "mine"}))
    assert properties_of(kafka, {"enable.auto.commit": False}) == {
        "bootstrap.servers": "one:9092",
        "client.id": "mine",
        "enable.auto.commit": False,
    }


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("no.such.thing", "1", 'No such configuration property: "no.such.thing"'),
        ("security.protocol", "tls", 'Invalid value "tls" for configuration property "security.protocol"'),
    ],
)
def test_an_unknown_property_is_an_error(name: str, value: str, error: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make_producer(Kafka("one:9092", ClientProperties({name: value})))
    assert str(caught.value) == f"[kafka] can't be used: {error}"


def test_librdkafka_writes_only_to_the_log(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, librdkafka.name)
    nowhere = Kafka("127.0.0.1:1", ClientProperties({"group.id": "g"}))
    with Admin(nowhere, answer_within_s=0.3) as admin, pytest.raises(NoAnswer):
        admin.cluster()
    assert capfd.readouterr() == ("", "")
    words = [record.getMessage() for record in caplog.records if record.name == librdkafka.name]
    assert any("Connection refused" in line for line in words)
    assert not any("CONFWARN" in line for line in words)
