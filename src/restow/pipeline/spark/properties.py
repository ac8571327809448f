"""Translates `[kafka]` properties, which are librdkafka's, for the Java client that Spark reads with.

Most names are equal. Properties that only librdkafka has are dropped, except security settings: brokers may require
them, so those without a translation are refused, and have to be set in `[spark]` as `kafka.` and their Java name. Files
are passed by content, so that executors on other machines don't need them.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from restow.errors import InvalidInput

SAME: Final = (
    *("client.id", "metadata.max.age.ms", "security.protocol", "sasl.kerberos.service.name"),
    *("ssl.endpoint.identification.algorithm", "ssl.key.password", "ssl.keystore.location", "ssl.keystore.password"),
)
RENAMED: Final = {
    "sasl.mechanism": "sasl.mechanism",
    "sasl.mechanisms": "sasl.mechanism",
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.pem": "ssl.keystore.certificate.chain",
    "ssl.key.pem": "ssl.keystore.key",
}
IN_FILES: Final = {
    "ssl.ca.location": "ssl.truststore.certificates",
    "ssl.certificate.location": "ssl.keystore.certificate.chain",
    "ssl.key.location": "ssl.keystore.key",
}
STORE_TYPES: Final = {  # implied by the property that names the store
    "ssl.truststore.certificates": {"ssl.truststore.type": "PEM"},
    "ssl.keystore.certificate.chain": {"ssl.keystore.type": "PEM"},
    "ssl.keystore.location": {"ssl.keystore.type": "PKCS12"},
}
LOGIN: Final = ("sasl.username", "sasl.password")
SECURITY: Final = ("ssl.", "sasl.", "enable.ssl.", "enable.sasl.")
PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"


def java_properties(properties: Mapping[str, str], java_names: Collection[str] = ()) -> dict[str, str]:
    """`java_names`: properties that `[spark]` sets under their Java names. If they include security settings, the user
    has configured Java's security, and nothing is refused for lack of a translation. Raises InvalidInput."""
    translated = {name: properties[name] for name in SAME if name in properties}
    translated |= {java: properties[name] for name, java in RENAMED.items() if name in properties}
    translated |= {java: _text_of(name, properties[name]) for name, java in IN_FILES.items() if name in properties}
    for name, kind in STORE_TYPES.items():
        translated |= kind if name in translated else {}
    if translated.get("ssl.endpoint.identification.algorithm") == "none":
        translated["ssl.endpoint.identification.algorithm"] = ""
    if "sasl.username" in properties:
        translated["sasl.jaas.config"] = _login(properties, translated.get("sasl.mechanism", "PLAIN"))
    if not any(name.startswith(SECURITY) for name in java_names):
        _refuse_untranslated(properties)
    return translated


def _refuse_untranslated(properties: Mapping[str, str]) -> None:
    known = {*SAME, *RENAMED, *IN_FILES, *LOGIN}
    for name in properties:
        if name.startswith(SECURITY) and name not in known:
            raise InvalidInput(
                f"[kafka] {name} has no translation for the Java client that Spark reads with; set its Java "
                f'counterpart in [spark], as "kafka.ssl.…" or "kafka.sasl.…"'
            )


def _text_of(name: str, path: str) -> str:
    try:
        text = Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"[kafka] {name} can't be read: {error}; it must be one PEM file") from None
    if "-----BEGIN " not in text:
        raise InvalidInput(f"[kafka] {name} is not a PEM file: {path}")
    if name == "ssl.key.location" and not ("BEGIN PRIVATE KEY" in text or "BEGIN ENCRYPTED PRIVATE KEY" in text):
        raise InvalidInput(
            f"[kafka] {name} is a key that Java can't read: {path}; convert it to PKCS #8 "
            f"(openssl pkcs8 -topk8 -nocrypt -in {path} -out …)"
        )
    return text


def _login(properties: Mapping[str, str], mechanism: str) -> str:
    module = SCRAM if mechanism.upper().startswith("SCRAM") else PLAIN
    user, password = (_quoted(properties.get(name, "")) for name in LOGIN)
    return f"{module} required username={user} password={password};"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
