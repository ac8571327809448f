"""The tables that a light pipeline has open, by their files. One that can't be written rests, longer each time, and is
tried again after that; the others go on meanwhile.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from restow.errors import RestowError
from restow.model import TopicPartition
from restow.pipeline.light.table import LightTable, PartitionRows

SHORTEST_REST_S: Final = 0.5
LONGEST_REST_S: Final = 30.0


@dataclass
class Store:
    table: LightTable
    rest_s: float = 0.0
    until_s: float = 0.0


class Stores:
    def __init__(self, group: str, say: Callable[[str], None]) -> None:
        self._group, self._say = group, say
        self._open: dict[str, Store] = {}

    def table(self, file: str) -> LightTable:
        """Opened if it is not. Raises TableTrouble."""
        if file not in self._open:
            self._open[file] = Store(LightTable(file, self._group))
        return self._open[file].table

    def is_resting(self, file: str | None) -> bool:
        return file is not None and time.monotonic() < self._open[file].until_s

    def write(
        self, file: str, spans: Callable[[], Mapping[TopicPartition, PartitionRows]]
    ) -> dict[TopicPartition, int | None] | None:
        """As LightTable.write says; nothing: it could not be written, or the rows could not be made, and it rests."""
        store = self._open[file]
        try:
            refused = store.table.write(spans())
        except RestowError as error:
            self._rest(store, str(error))
            return None
        if store.rest_s:
            self._say(f"the table {file} is written again")
        store.rest_s = 0.0
        return refused

    def keep(self, files: Iterable[str | None]) -> None:
        for file in sorted(set(self._open).difference(files)):
            self._open.pop(file).table.close()

    def _rest(self, store: Store, line: str) -> None:
        if not store.rest_s:
            self._say(f"{line}; it is tried again after a while, others go on")
        store.rest_s = min(max(2 * store.rest_s, SHORTEST_REST_S), LONGEST_REST_S)
        store.until_s = time.monotonic() + store.rest_s
