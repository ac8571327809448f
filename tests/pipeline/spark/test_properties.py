"""Properties of the Spark session and of its Kafka client, from restow.toml."""

import re
from pathlib import Path

import pytest

from restow.errors import InvalidInput
from restow.pipeline.spark.class_archive import archive_path, options
from restow.pipeline.spark.properties import java_properties
from restow.pipeline.spark.session import Resources

PEM = "-----BEGIN CERTIFICATE-----"
KEY = "-----BEGIN PRIVATE KEY-----"


def test_user_name_and_password_become_a_jaas_config() -> None:
    assert java_properties(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanisms": "SCRAM-SHA-512",
            "sasl.username": "restow",
            "sasl.password": 'with "quotes" and \\',
            "ssl.ca.pem": PEM,
            "queue.buffering.max.ms": "5",
        }
    ) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "ssl.truststore.certificates": PEM,
        "ssl.truststore.type": "PEM",
        "sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required "
            'username="restow" password="with \\"quotes\\" and \\\\";'
        ),
    }


def test_sasl_defaults_to_plain_and_host_name_checks_can_be_disabled() -> None:
    translated = java_properties({"sasl.username": "u", "ssl.endpoint.identification.algorithm": "none"})
    assert translated["sasl.jaas.config"].startswith("org.apache.kafka.common.security.plain.PlainLoginModule ")
    assert translated["ssl.endpoint.identification.algorithm"] == ""
    assert java_properties({}) == {}


def test_files_are_passed_by_content(tmp_path: Path) -> None:
    certificate, key = tmp_path / "client.crt", tmp_path / "client.key"
    certificate.write_text(PEM)
    key.write_text(KEY)
    files = {"ssl.ca.location": certificate, "ssl.certificate.location": certificate, "ssl.key.location": key}
    assert java_properties({name: str(path) for name, path in files.items()}) == {
        "ssl.truststore.certificates": PEM,
        "ssl.truststore.type": "PEM",
        "ssl.keystore.certificate.chain": PEM,
        "ssl.keystore.key": KEY,
        "ssl.keystore.type": "PEM",
    }


def test_a_pkcs12_store_is_passed_by_its_path() -> None:
    store = {"ssl.keystore.location": "/etc/client.p12", "ssl.keystore.password": "secret"}
    assert java_properties(store) == {**store, "ssl.keystore.type": "PKCS12"}


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("ssl.ca.location", None, "can't be read: "),
        ("ssl.ca.location", "not at all", "is not a PEM file: "),
        ("ssl.key.location", "-----BEGIN RSA PRIVATE KEY-----", "is a key that Java can't read: "),
    ],
)
def test_files_that_java_cannot_read_are_refused(name: str, text: str | None, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "file.pem"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InvalidInput, match=re.escape(f"[kafka] {name} {reason}")):
        java_properties({name: str(path)})


def test_untranslatable_security_settings_are_refused_unless_java_names_are_set() -> None:
    oauth = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.client.id": "restow"}
    with pytest.raises(InvalidInput, match=r"\[kafka\] sasl\.oauthbearer\.client\.id has no translation"):
        java_properties(oauth)
    translated = java_properties(oauth, ["max.poll.records", "sasl.jaas.config"])
    assert translated == {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}


@pytest.mark.parametrize(
    ("resources", "master", "heap_mb"),
    [
        (Resources(), "local[*]", None),
        (Resources(cores=0.5, memory_mb=600), "local[1]", 512),
        (Resources(cores=2.0, memory_mb=2048), "local[2]", 1408),
    ],
)
def test_spark_gets_the_cores_and_the_memory_of_its_consumer(
    resources: Resources, master: str, heap_mb: int | None
) -> None:
    assert (resources.master, resources.heap_mb) == (master, heap_mb)


@pytest.mark.spark
def test_a_class_archive_is_used_if_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESTOW_CACHE", str(tmp_path))
    assert options() == ()
    archive_path().parent.mkdir()
    archive_path().touch()
    assert options()[0] == f"-XX:SharedArchiveFile={archive_path()}"
