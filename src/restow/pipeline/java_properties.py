"""What `[kafka]` says in librdkafka's words, in the words of the Java client that Spark reads with.

The reader asks. Most names are the same in both; what only librdkafka knows is left out, and what the Java client needs
beyond this can be said in `[spark]`, as `kafka.` and its Java name.
"""

from collections.abc import Mapping
from typing import Final

SAME: Final = ("client.id", "security.protocol", "sasl.kerberos.service.name", "metadata.max.age.ms")
RENAMED: Final = {
    "sasl.mechanism": "sasl.mechanism",
    "sasl.mechanisms": "sasl.mechanism",
    "ssl.endpoint.identification.algorithm": "ssl.endpoint.identification.algorithm",
    "ssl.key.password": "ssl.key.password",
    "ssl.ca.location": "ssl.truststore.location",
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.pem": "ssl.keystore.certificate.chain",
    "ssl.key.pem": "ssl.keystore.key",
}
PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"


def java_properties(properties: Mapping[str, str]) -> dict[str, str]:
    translated = {name: properties[name] for name in SAME if name in properties}
    translated |= {java: properties[name] for name, java in RENAMED.items() if name in properties}
    if "ssl.endpoint.identification.algorithm" in translated:
        algorithm = translated["ssl.endpoint.identification.algorithm"]
        translated["ssl.endpoint.identification.algorithm"] = "" if algorithm == "none" else algorithm
    if {"ssl.ca.location", "ssl.ca.pem"} & properties.keys():
        translated["ssl.truststore.type"] = "PEM"
    if "ssl.certificate.pem" in properties:
        translated["ssl.keystore.type"] = "PEM"
    if "sasl.username" in properties:
        translated["sasl.jaas.config"] = _login(properties, translated.get("sasl.mechanism", "PLAIN"))
    return translated


def _login(properties: Mapping[str, str], mechanism: str) -> str:
    module = SCRAM if mechanism.upper().startswith("SCRAM") else PLAIN
    user, password = (_quoted(properties.get(f"sasl.{name}", "")) for name in ("username", "password"))
    return f"{module} required username={user} password={password};"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
