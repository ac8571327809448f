"""The same [kafka] properties reach both libraries: librdkafka's names are translated to kafka-python's."""

import ssl

import pytest
from kafka.admin import KafkaAdminClient

from restow.kafka.errors import RequestRefused
from restow.kafka.log_dirs import TRANSLATION, client_options, sizes_in
from restow.model import TopicPartition
from restow.settings import ClientProperties, Kafka

STORAGE_ERROR = 56


def options(**properties: str) -> dict[str, object]:
    return client_options(Kafka("one:9092,two:9092", ClientProperties(dict_of(properties))), answer_within_s=10)


def dict_of(properties: dict[str, str]) -> dict[str, str | int | float | bool]:
    return {name.replace("_", "."): value for name, value in properties.items()}


def test_every_name_of_the_table_is_one_that_kafka_python_knows() -> None:
    assert {name for name, _ in TRANSLATION.values()} <= KafkaAdminClient.DEFAULT_CONFIG.keys()


def test_security_is_translated_and_producer_properties_are_ignored() -> None:
    translated = options(
        security_protocol="sasl_plaintext",
        sasl_mechanism="SCRAM-SHA-512",
        sasl_username="restow",
        sasl_password="hunter2",
        socket_timeout_ms="5000",
        linger_ms="5",
    )
    assert translated == {
        "bootstrap_servers": ["one:9092", "two:9092"],
        "bootstrap_timeout_ms": 10_000,
        "client_id": "restow",
        "request_timeout_ms": 5000,
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_password": "hunter2",
        "sasl_plain_username": "restow",
        "security_protocol": "SASL_PLAINTEXT",
    }


def test_tls_verifies_the_brokers_name_and_certificate_unless_told_not_to() -> None:
    def strictness(**properties: str) -> tuple[bool, ssl.VerifyMode]:
        context = options(security_protocol="ssl", **properties)["ssl_context"]
        assert isinstance(context, ssl.SSLContext)
        return context.check_hostname, context.verify_mode

    assert strictness() == (True, ssl.CERT_REQUIRED)
    assert strictness(ssl_endpoint_identification_algorithm="none") == (False, ssl.CERT_REQUIRED)
    assert strictness(enable_ssl_certificate_verification="false") == (False, ssl.CERT_NONE)


def test_an_untranslatable_property_is_an_error() -> None:
    with pytest.raises(RequestRefused, match=r"^the sizes of logs can't be read with ssl.keystore.location; give the"):
        options(ssl_keystore_location="x.p12")
    with pytest.raises(
        RequestRefused, match=r"^the sizes of logs can't be read with sasl.mechanism=OAUTHBEARER; use one of"
    ):
        options(sasl_mechanism="OAUTHBEARER")


def log_dir(path: str, error_code: int, **sizes: int) -> dict[str, object]:
    """As brokers answer."""
    topics = [
        {"name": name, "partitions": [{"partition_index": 0, "partition_size": size, "is_future_key": False}]}
        for name, size in sizes.items()
    ]
    return {"error_code": error_code, "log_dir": path, "topics": topics}


def test_an_offline_directory_hides_only_what_it_holds() -> None:
    answer = [log_dir("/disk-1", 0, orders=120), log_dir("/disk-2", STORAGE_ERROR)]
    assert sizes_in(1, answer) == {TopicPartition("orders", 0): 120}


def test_a_broker_that_can_not_read_its_own_directories_is_not_taken_for_an_empty_one() -> None:
    with pytest.raises(RequestRefused) as caught:
        sizes_in(3, [log_dir("/disk-1", STORAGE_ERROR)])
    assert str(caught.value) == (
        "can't read the sizes of node 3's logs: it can't read its own log directories (/disk-1: error 56)"
    )
