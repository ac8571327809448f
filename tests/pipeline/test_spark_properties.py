"""What a session and its Kafka client are told, from restow.toml."""

from pathlib import Path

import pytest

from restow.pipeline.class_archive import archive_path, options
from restow.pipeline.java_properties import java_properties
from restow.pipeline.session import Resources


def test_a_name_and_a_password_become_a_login_of_java() -> None:
    assert java_properties(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanisms": "SCRAM-SHA-512",
            "sasl.username": "restow",
            "sasl.password": 'with "quotes" and \\',
            "ssl.ca.location": "/etc/ca.pem",
            "queue.buffering.max.ms": "5",
        }
    ) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "ssl.truststore.location": "/etc/ca.pem",
        "ssl.truststore.type": "PEM",
        "sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required "
            'username="restow" password="with \\"quotes\\" and \\\\";'
        ),
    }


def test_a_login_is_plain_unless_it_is_said_otherwise_and_names_of_hosts_may_go_unchecked() -> None:
    translated = java_properties({"sasl.username": "u", "ssl.endpoint.identification.algorithm": "none"})
    assert translated["sasl.jaas.config"].startswith("org.apache.kafka.common.security.plain.PlainLoginModule ")
    assert translated["ssl.endpoint.identification.algorithm"] == ""
    assert java_properties({}) == {}


@pytest.mark.parametrize(
    ("resources", "master", "heap_mb"),
    [
        (Resources(), "local[*]", None),
        (Resources(cores=0.5, memory_mb=600), "local[1]", 512),
        (Resources(cores=2.0, memory_mb=2048), "local[2]", 1624),
    ],
)
def test_spark_gets_the_cores_and_the_memory_of_its_consumer(
    resources: Resources, master: str, heap_mb: int | None
) -> None:
    assert (resources.master, resources.heap_mb) == (master, heap_mb)


def test_an_archive_of_classes_is_used_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESTOW_CACHE", str(tmp_path))
    assert options() == ()
    archive_path().parent.mkdir()
    archive_path().touch()
    assert options()[0] == f"-XX:SharedArchiveFile={archive_path()}"
