"""Kafka client properties from `[kafka]`, and Spark's from `[spark]`, with secrets redacted.

Printing or logging them shows `***` for a secret; only looking up a key returns its value. `restow.kafka.clients` hands
them to the clients.

The same holds for relative paths, such as that of a certificate: looking one up returns its absolute path, which starts
in the directory of restow.toml; everything else shows it as it is written there.
"""

import re
from collections.abc import Iterator, Mapping

from restow.settings.paths import located_property

REDACTED = "***"

SECRET_NAME = re.compile(
    r"password|secret|token|jaas|private|credential|\.key\.pem$|oauthbearer\.config", re.IGNORECASE
)
"""Matches the names of secret properties: `sasl.password`, `ssl.key.pem`, …"""

Value = str | int | float | bool


def is_secret(name: str) -> bool:
    return bool(SECRET_NAME.search(name))


class ClientProperties(Mapping[str, str]):
    """A read-only mapping, sorted by key. Its repr shows no secret."""

    __slots__ = ("_directory", "_values")

    def __init__(self, values: Mapping[str, Value] | None = None, directory: str = "") -> None:
        """`directory` is where relative paths start; empty for the working directory."""
        self._values = {name: _as_text(value) for name, value in sorted((values or {}).items())}
        self._directory = directory

    def __getitem__(self, name: str) -> str:
        return located_property(name, self._values[name], self._directory)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"ClientProperties({self.shown})"

    def __hash__(self) -> int:
        return hash(tuple(self._values.items()))

    def in_directory(self, directory: str) -> "ClientProperties":
        return ClientProperties(self._values, directory)

    @property
    def written(self) -> Mapping[str, str]:
        """As they are in restow.toml, with secrets and with relative paths."""
        return dict(self._values)

    @property
    def shown(self) -> dict[str, str]:
        """With secrets redacted."""
        return {name: REDACTED if is_secret(name) else value for name, value in self._values.items()}

    def redact(self, text: str) -> str:
        """Removes secrets from a library's message, which may have quoted them."""
        for name, value in self._values.items():
            if value and is_secret(name):
                text = text.replace(value, REDACTED)
        return text


def _as_text(value: Value) -> str:
    """librdkafka takes every property as text, and booleans in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)
