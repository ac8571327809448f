"""Digests, by which the controller sees whether a consumer runs an older definition."""

import hashlib
import json

from restow.model import SortedMapping

Digests = SortedMapping[str, str]
"""The digest of each topic's definition."""


def digest(*definition: str | bool | None) -> str:
    return hashlib.sha256(json.dumps(definition).encode()).hexdigest()[:12]
