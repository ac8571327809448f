"""Reads how long topics keep their records, for the margin in the group's picture."""

from collections.abc import Mapping
from typing import Final

from restow.errors import RestowError
from restow.model import Retention

DELETE: Final = "delete"


def retention_of(config: Mapping[str, str]) -> Retention:
    """From a topic's configuration as brokers return it. -1 is no limit, and limits count only if the cleanup.policy
    has `delete`."""
    if DELETE not in config.get("cleanup.policy", DELETE).split(","):
        return Retention()
    kept_ms, kept_bytes = int(config.get("retention.ms", "-1")), int(config.get("retention.bytes", "-1"))
    return Retention(None if kept_ms < 0 else kept_ms / 1000, None if kept_bytes < 0 else kept_bytes)


def retentions_of(
    configs: Mapping[str, Mapping[str, str] | RestowError],
) -> tuple[dict[str, Retention], RestowError | None]:
    """The retention of each topic whose configuration could be read, and the error of the first that could not."""
    found = {topic: retention_of(config) for topic, config in configs.items() if not isinstance(config, RestowError)}
    errors = (config for _, config in sorted(configs.items()) if isinstance(config, RestowError))
    return found, next(errors, None)
