"""Relative paths in restow.toml start in the directory of that file, wherever a command is given.

Settings keep a path as it is written, so that messages and digests have the same text on every machine. The process
that opens the path makes it absolute with `located`.
"""

import re
from collections.abc import Mapping
from typing import Final

URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")

ONE: Final = ""
SEPARATORS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            *("https.ca.location", "ssl.ca.location", "ssl.certificate.location", "ssl.crl.location"),
            *("ssl.key.location", "ssl.keystore.location", "ssl.truststore.location", "sasl.kerberos.keytab"),
            *("sasl.oauthbearer.assertion.file", "sasl.oauthbearer.assertion.private.key.file"),
            *("sasl.oauthbearer.assertion.jwt.template.file",),
            *("kafka.ssl.keystore.location", "kafka.ssl.truststore.location"),
            *("spark.eventLog.dir", "spark.jars.ivy", "spark.jars.ivySettings", "spark.kerberos.keytab"),
            *("spark.sql.warehouse.dir",),
        ),
        ONE,
    ),
    **dict.fromkeys(("spark.archives", "spark.files", "spark.jars", "spark.local.dir", "spark.submit.pyFiles"), ","),
    **dict.fromkeys(("spark.driver.extraClassPath", "spark.driver.extraLibraryPath"), ":"),
}
"""The properties of Kafka's clients and of Spark that are paths, each with what separates several of them."""

PROBE: Final = "probe"
"""As `ssl.ca.location`: librdkafka looks for the system's certificates."""


def is_relative(path: str) -> bool:
    return path != "" and not path.startswith("/") and not URI.match(path)


def located(path: str, directory: str) -> str:
    """The absolute path, for a relative one; URIs and absolute paths stay as they are. Without a directory every path
    stays as it is, and starts where the process was started."""
    return f"{directory.rstrip('/')}/{path}" if directory and is_relative(path) else path


def relative_paths(name: str, value: str) -> tuple[str, ...]:
    """The relative paths in the value of a property; empty if the property is no path."""
    if name not in SEPARATORS or value == PROBE:
        return ()
    return tuple(path for path in _parts(value, SEPARATORS[name]) if is_relative(path))


def located_property(name: str, value: str, directory: str) -> str:
    if not relative_paths(name, value):
        return value
    separator = SEPARATORS[name]
    return separator.join(located(path, directory) for path in _parts(value, separator))


def _parts(value: str, separator: str) -> list[str]:
    return [part.strip() for part in value.split(separator)] if separator else [value]
