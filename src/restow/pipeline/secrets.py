"""Removes secrets from error messages of libraries and of users' code, which may quote what they were given."""

import re
from collections.abc import Mapping
from typing import Final

from restow.settings import Settings
from restow.settings.properties import REDACTED, is_secret

SHORTEST: Final = 4
"""A shorter value is part of ordinary words, and replacing it would make messages unreadable."""
CREDENTIALS: Final = re.compile(r"(?<=://)[^/\s@]+(?=@)")
"""`user:password` in an address."""


class Secrets:
    def __init__(self, settings: Settings, environment: Mapping[str, str]) -> None:
        """Values of secret properties in `[kafka]`, `[spark]` and `[registry]`, and of environment variables with such
        names."""
        named = (settings.kafka.properties, settings.spark.properties, environment)
        values = {value for names in named for name, value in names.items() if is_secret(name)}
        values |= {value for value in (settings.registry.password, settings.registry.token) if value}
        self._values = sorted((value for value in values if len(value) >= SHORTEST), key=len, reverse=True)

    def redact(self, text: str) -> str:
        for value in self._values:
            text = text.replace(value, REDACTED)
        return CREDENTIALS.sub(REDACTED, text)
