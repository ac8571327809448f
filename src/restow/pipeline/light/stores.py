"""The open tables of a light pipeline. A table that can't be written is retried with backoff; the others continue."""

import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from restow.backoff import Backoff, Retries
from restow.errors import RestowError
from restow.model import TopicPartition
from restow.pipeline.light.table import LightTable, PartitionRows
from restow.pipeline.places import place_of
from restow.pipeline.secrets import Secrets
from restow.settings import Settings

log = logging.getLogger(__name__)

BACKOFF: Final = Backoff(first_s=0.5, longest_s=30.0)


@dataclass(frozen=True, slots=True)
class Written:
    refused: Mapping[TopicPartition, int | None] = field(default_factory=dict)
    """As LightTable.write returns it."""
    rows: int = 0
    commit_s: float = 0.0


class Stores:
    """Tables are named as in restow.toml."""

    def __init__(self, settings: Settings, code: str | None = None) -> None:
        self._code = code
        self._settings, self._secrets = settings, Secrets(settings, os.environ)
        self._open: dict[str, LightTable] = {}
        self._retries = Retries(BACKOFF)
        self._failures: dict[str, str] = {}

    def table(self, file: str) -> LightTable:
        """Opens the table if it is not open. Raises LightTableError or TableElsewhere."""
        if file not in self._open:
            path, former = place_of(file, self._settings)
            self._open[file] = LightTable(path, self._settings.group.name, former, self._code)
        return self._open[file]

    def is_waiting(self, file: str | None) -> bool:
        """Whether the table failed and is not to be retried yet."""
        return file is not None and self._retries.is_waiting(file, time.monotonic())

    def write(self, file: str, batch: Callable[[], Mapping[TopicPartition, PartitionRows]]) -> Written | None:
        """As LightTable.write. Returns None if the rows can't be made or written: the table waits for its retry."""
        try:
            made = batch()
            begun_s = time.monotonic()
            refused = self._open[file].write(made)
            commit_s = time.monotonic() - begun_s
        except RestowError as error:
            reason = self._failures[file] = self._secrets.redact(str(error))
            if self._retries.failed(file, time.monotonic(), reason):
                log.warning("%s; retrying, and the other tables continue", reason)
            return None
        self._failures.pop(file, None)
        if self._retries.succeeded(file):
            log.info("the table %s is written again", file)
        return Written(refused, sum(len(made[p].rows) for p in made if p not in refused), commit_s)

    def keep(self, files: Iterable[str | None]) -> None:
        """Closes all other tables."""
        kept = set(files)
        for file in sorted(set(self._open).difference(kept)):
            self._open.pop(file).close()
        self._retries.keep(kept)
        self._failures = {file: reason for file, reason in self._failures.items() if file in kept}

    def failure(self, file: str | None) -> str | None:
        """Why nothing can be stored in the table now; None if that is not known to fail."""
        return None if file is None else self._failures.get(file)
