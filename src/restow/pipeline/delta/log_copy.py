"""A copy of the log of a table in an object store, from its last checkpoint on, to look up many transaction ids. The
ledger makes it when it is first asked for one.

delta-rs looks for one id in the last checkpoint and in every entry after it. From a store that took 23 requests an id,
with 18 entries; a consumer that opens a hundred partitions has a hundred ids. On a disk it takes a millisecond each.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from deltalake import DeltaTable

from restow.pipeline.delta.files import ScratchDirectory, TableFiles

LOG: Final = "_delta_log"
LAST_CHECKPOINT: Final = f"{LOG}/_last_checkpoint"
AT_ONCE: Final = 8
"""Files that are fetched side by side."""


class LogCopy:
    def __init__(self, files: TableFiles, version: int) -> None:
        """Raises FileNotFoundError if there is no such copy: entries have expired, or there is a later checkpoint, or
        one in several files. Raises OSError if the store fails."""
        self._directory = ScratchDirectory("restow-log-")
        root = self._directory.path
        (root / LOG).mkdir()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for _ in pool.map(lambda path: files.fetch(path, root / path), _paths(files, version)):
                pass
        self._table = DeltaTable(root, version=version)

    def version_of(self, app_id: str) -> int | None:
        return self._table.transaction_version(app_id)


def _paths(files: TableFiles, version: int) -> list[str]:
    try:
        checkpoint = json.loads(files.read(LAST_CHECKPOINT))
    except FileNotFoundError:
        return [_entry(each) for each in range(version + 1)]
    last = int(checkpoint["version"])
    if last > version or "parts" in checkpoint or "v2Checkpoint" in checkpoint:
        raise FileNotFoundError(f"the checkpoint {last} is not that of version {version}, or in several files")
    entries = [_entry(each) for each in range(last + 1, version + 1)]
    return [LAST_CHECKPOINT, f"{LOG}/{last:020}.checkpoint.parquet", *entries]


def _entry(version: int) -> str:
    return f"{LOG}/{version:020}.json"
