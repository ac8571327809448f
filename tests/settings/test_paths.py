"""Relative paths start in the directory of restow.toml; messages and digests keep them as they are written."""

import re
from pathlib import Path

import confluent_kafka
import pytest
from tests.support.paths import ROOT

from restow.cli.support.consumers_config import digest_of
from restow.kafka.clients import properties_of
from restow.pipeline.spark.properties import java_properties
from restow.settings import Settings, read_settings
from restow.settings.paths import SEPARATORS, located

TEXT = """
[kafka]
bootstrap = "127.0.0.1:9092"
"ssl.ca.location" = "keys/ca.pem"
"ssl.key.location" = "/etc/keys/key.pem"
"client.id" = "lake"
[group]
name = "lake"
[spark]
"spark.jars" = "own.jar, /opt/other.jar, hdfs://far/third.jar"
"spark.driver.extraClassPath" = "classes:/opt/classes"
"spark.sql.session.timeZone" = "Europe/Berlin"
[kubernetes]
kubeconfig = "cluster.yaml"
[consume.orders]
table = "lake/orders"
[consume.clicks]
table = "s3://lake/clicks"
"""


def settings_in(directory: str) -> Settings:
    return read_settings(TEXT, "restow.toml", {}).in_directory(directory)


@pytest.mark.parametrize(
    ("path", "absolute"),
    [
        ("lake/orders", "/srv/a/lake/orders"),
        ("../lake/orders", "/srv/a/../lake/orders"),
        ("/lake/orders", "/lake/orders"),
        ("s3://lake/orders", "s3://lake/orders"),
        ("file:/lake/orders", "file:/lake/orders"),
        ("", ""),
    ],
)
def test_a_relative_path_starts_in_the_directory_and_others_stay(path: str, absolute: str) -> None:
    assert located(path, "/srv/a") == absolute
    assert located(path, "") == path, "settings that were read from no file start where the process does"


def test_clients_and_spark_get_absolute_paths() -> None:
    settings = settings_in("/srv/a")
    properties = properties_of(settings.kafka)
    assert properties["ssl.ca.location"] == "/srv/a/keys/ca.pem"
    assert properties["ssl.key.location"] == "/etc/keys/key.pem"
    assert properties["client.id"] == "lake"
    assert settings.spark.of_session() == {
        "spark.driver.extraClassPath": "/srv/a/classes:/opt/classes",
        "spark.jars": "/srv/a/own.jar,/opt/other.jar,hdfs://far/third.jar",
        "spark.sql.session.timeZone": "Europe/Berlin",
    }
    assert settings.kubernetes.kubeconfig == "/srv/a/cluster.yaml"


def test_librdkafkas_word_for_the_systems_certificates_is_no_path() -> None:
    text = '[kafka]\nbootstrap = "a:1"\n"ssl.ca.location" = "probe"\n[group]\nname = "lake"'
    settings = read_settings(text, "restow.toml", {}).in_directory("/srv/a")
    assert properties_of(settings.kafka)["ssl.ca.location"] == "probe"


def test_a_users_home_stays_the_users_home() -> None:
    text = '[kafka]\nbootstrap = "a:1"\n[group]\nname = "lake"\n[kubernetes]\nkubeconfig = "~/.kube/other"'
    assert read_settings(text, "f", {}).in_directory("/srv/a").kubernetes.kubeconfig == "~/.kube/other"


def test_spark_reads_a_certificate_beside_restow_toml(tmp_path: Path) -> None:
    certificate = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "ca.pem").write_text(certificate)
    text = '[kafka]\nbootstrap = "a:1"\n"ssl.ca.location" = "keys/ca.pem"\n[group]\nname = "lake"'
    settings = read_settings(text, "restow.toml", {}).in_directory(str(tmp_path))
    assert java_properties(settings.kafka.properties)["ssl.truststore.certificates"] == certificate


def test_messages_and_digests_have_the_paths_as_written() -> None:
    here, there = settings_in("/srv/a"), settings_in("/home/b")
    assert here.consume == there.consume == read_settings(TEXT, "restow.toml", {}).consume
    assert here.consume["orders"].table == "lake/orders"
    assert here.consume["orders"].digest == there.consume["orders"].digest
    assert digest_of(here, {}) == digest_of(there, {}) == digest_of(read_settings(TEXT, "restow.toml", {}), {})
    assert here.kafka.properties.written == there.kafka.properties.written
    assert "/srv" not in repr(here.kafka), "a log line doesn't show one machine's directories"


def test_every_property_of_librdkafka_that_names_a_file_is_known() -> None:
    """The library that the wheel of confluent-kafka brings along names its properties in plain text."""
    libraries = list(Path(confluent_kafka.__file__).parent.parent.glob("confluent_kafka.libs/librdkafka*"))
    if not libraries:
        pytest.skip("confluent-kafka is not installed from its wheel")
    text = b"".join(file.read_bytes() for file in libraries)
    named = set(re.findall(rb"\0((?:ssl|sasl|https)\.[a-z.]*(?:location|keytab|file))\0", text))
    assert len(named) > 8
    # An engine is a library, which the loader looks for in its own directories.
    assert {name.decode() for name in named} - {"ssl.engine.location"} <= SEPARATORS.keys()


def test_one_module_finds_the_directory_of_the_processes() -> None:
    """Others would take a relative one for a place in the working directory."""
    users = [file for file in (ROOT / "src").rglob("*.py") if "processes.directory" in file.read_text("utf-8")]
    assert [file.name for file in users] == ["location.py"]
