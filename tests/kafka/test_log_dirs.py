"""The same [kafka] properties reach both libraries: librdkafka's names are translated to kafka-python's."""

import ssl

import pytest
from kafka.admin import KafkaAdminClient

from restow.kafka.errors import Refused
from restow.kafka.log_dirs import TRANSLATION, client_options
from restow.settings import ClientProperties, Kafka


def options(**properties: str) -> dict[str, object]:
    return client_options(Kafka("one:9092,two:9092", ClientProperties(dict_of(properties))), answer_within_s=10)


def dict_of(properties: dict[str, str]) -> dict[str, str | int | float | bool]:
    return {name.replace("_", "."): value for name, value in properties.items()}


def test_every_name_of_the_table_is_one_that_kafka_python_knows() -> None:
    assert {name for name, _ in TRANSLATION.values()} <= KafkaAdminClient.DEFAULT_CONFIG.keys()


def test_security_is_translated_and_what_concerns_producers_alone_is_passed_over() -> None:
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


def test_what_can_not_be_translated_is_told_rather_than_left_out() -> None:
    with pytest.raises(Refused, match=r"^the sizes of logs can't be asked for with ssl.keystore.location; give the"):
        options(ssl_keystore_location="x.p12")
    with pytest.raises(Refused, match=r"^the sizes of logs can't be asked for with sasl.mechanism=OAUTHBEARER; any of"):
        options(sasl_mechanism="OAUTHBEARER")
