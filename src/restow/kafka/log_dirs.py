"""The bytes of each log on disk (DescribeLogDirs). librdkafka has no such request, so kafka-python sends it.

Its client gets the same `[kafka]` properties, translated by the table below; properties without a counterpart concern
only producing and consuming. Only admin.py uses this.
"""

import logging
import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from restow.kafka.errors import NoAnswer, NotAllowed, RequestRefused
from restow.model import TopicPartition
from restow.settings import Kafka

if TYPE_CHECKING:
    from kafka.admin import KafkaAdminClient

logging.getLogger("kafka").setLevel(logging.CRITICAL + 1)  # the sampler logs failures itself, once

CLIENT_ID = "restow"

TRANSLATION: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "client.dns.lookup": ("client_dns_lookup", str),
    "client.id": ("client_id", str),
    "connections.max.idle.ms": ("connections_max_idle_ms", int),
    "metadata.max.age.ms": ("metadata_max_age_ms", int),
    "receive.message.max.bytes": ("receive_message_max_bytes", int),
    "reconnect.backoff.max.ms": ("reconnect_backoff_max_ms", int),
    "reconnect.backoff.ms": ("reconnect_backoff_ms", int),
    "retry.backoff.ms": ("retry_backoff_ms", int),
    "sasl.kerberos.service.name": ("sasl_kerberos_service_name", str),
    "sasl.mechanism": ("sasl_mechanism", str.upper),
    "sasl.mechanisms": ("sasl_mechanism", str.upper),
    "sasl.password": ("sasl_plain_password", str),
    "sasl.username": ("sasl_plain_username", str),
    "security.protocol": ("security_protocol", str.upper),
    "socket.receive.buffer.bytes": ("receive_buffer_bytes", int),
    "socket.send.buffer.bytes": ("send_buffer_bytes", int),
    "socket.timeout.ms": ("request_timeout_ms", int),
}
"""librdkafka's name -> kafka-python's name, and how to read the value. `tls_of` translates TLS."""

UNTRANSLATABLE = ("ssl.keystore.location", "ssl.certificate.pem", "ssl.key.pem", "ssl.engine.location")
"""Python's TLS reads certificates from PEM files only."""

SASL_KNOWN = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI")


class LogDirs:
    """Connects on the first request, and again after a failure."""

    def __init__(self, kafka: Kafka, answer_within_s: float) -> None:
        self._kafka = kafka
        self._within_s = answer_within_s
        self._client: KafkaAdminClient | None = None

    def sizes_on(self, node: int, topics: Iterable[str] | None = None) -> dict[TopicPartition, int]:
        """The bytes of every log on a node, without those in offline directories. Raises the errors in errors.py."""
        # Consumers and controllers import this module and never ask: kafka-python would take a quarter of their start.
        from kafka.admin import KafkaAdminClient  # noqa: PLC0415  as said above
        from kafka.errors import KafkaError as KafkaPythonError  # noqa: PLC0415  as said above

        asked = None if topics is None else sorted(topics)
        try:
            if self._client is None:
                self._client = KafkaAdminClient(**client_options(self._kafka, self._within_s))
            [answer] = self._client.describe_log_dirs(asked, brokers=[node])
        except KafkaPythonError as error:
            self.close()
            words = self._kafka.properties.redact(str(error))
            raise NoAnswer(f"can't read the sizes of node {node}'s logs: it doesn't answer ({words})") from None
        return sizes_in(node, answer["log_dirs"])

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()


def sizes_in(node: int, directories: Sequence[Mapping[str, Any]]) -> dict[TopicPartition, int]:
    if not directories:  # every broker has one; without the right it returns none
        raise NotAllowed(
            "can't read the sizes of logs: the right Describe on the cluster is missing; grant it to the principal "
            "in [kafka]"
        )
    readable = [directory for directory in directories if directory["error_code"] == 0]
    if not readable:
        errors = ", ".join(f"{directory['log_dir']}: error {directory['error_code']}" for directory in directories)
        raise RequestRefused(
            f"can't read the sizes of node {node}'s logs: it can't read its own log directories ({errors})"
        )
    return {
        TopicPartition(topic["name"], partition["partition_index"]): partition["partition_size"]
        for directory in readable
        for topic in directory["topics"]
        for partition in topic["partitions"]
        if not partition["is_future_key"]  # a copy that is being moved to another disk
    }


def client_options(kafka: Kafka, answer_within_s: float) -> dict[str, Any]:
    properties, within_ms = kafka.properties, round(1000 * answer_within_s)
    options: dict[str, Any] = {
        "bootstrap_servers": kafka.bootstrap.split(","),
        "bootstrap_timeout_ms": within_ms,
        "client_id": CLIENT_ID,
        "request_timeout_ms": within_ms,
    }
    for name, value in properties.items():
        if name in UNTRANSLATABLE:
            raise RequestRefused(f"the sizes of logs can't be read with {name}; give the certificate as PEM files")
        if name in TRANSLATION:
            translated, read = TRANSLATION[name]
            options[translated] = read(value)
    mechanism = options.get("sasl_mechanism", SASL_KNOWN[0])
    if mechanism not in SASL_KNOWN:
        raise RequestRefused(
            f"the sizes of logs can't be read with sasl.mechanism={mechanism}; use one of {SASL_KNOWN}"
        )
    if options.get("security_protocol", "").endswith("SSL"):
        options["ssl_context"] = tls_of(properties)
    return options


def tls_of(properties: Mapping[str, str]) -> ssl.SSLContext:
    """The TLS context that librdkafka's properties describe."""
    context = ssl.create_default_context(cafile=properties.get("ssl.ca.location"), cadata=properties.get("ssl.ca.pem"))
    context.check_hostname = properties.get("ssl.endpoint.identification.algorithm", "https") != "none"
    if properties.get("enable.ssl.certificate.verification", "true") == "false":
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if certificate := properties.get("ssl.certificate.location"):
        key = properties.get("ssl.key.location")
        context.load_cert_chain(certificate, key, password=properties.get("ssl.key.password"))
    if revoked := properties.get("ssl.crl.location"):
        context.load_verify_locations(revoked)
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
    return context
