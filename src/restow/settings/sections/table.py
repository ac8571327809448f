"""`[table]`: checkpoints, compaction and vacuum of Delta tables."""

from dataclasses import dataclass
from typing import Annotated

from restow.settings.checks import ABOVE_0, AT_LEAST_1, Check


@dataclass(frozen=True, slots=True)
class Table:
    """`[table]`: maintenance of Delta tables. `checkpoint_every_commits`, `log_kept_s` and `removed_files_kept_s`
    become table properties of the tables that restow creates; an existing table keeps its own. docs/exactly-once.md has
    the measurements."""

    checkpoint_every_commits: Annotated[int, AT_LEAST_1] = 50
    """Commits between two checkpoints of the transaction log. A reader loads the last checkpoint and the commits after
    it, at 0.5 ms each. Writing a checkpoint lists the log; it is done beside the cycles."""

    log_kept_s: Annotated[float, ABOVE_0] = 86_400.0
    """Seconds that entries of the transaction log are kept after a checkpoint covers them. It limits time travel, and
    how long a streaming reader may be away. Commits don't become slower with it."""

    removed_files_kept_s: Annotated[float, ABOVE_0] = 86_400.0
    """Seconds before files are deleted that compaction replaced, or that were never committed. A streaming reader that
    was away needs the replaced ones for as long as the log's entries. They take disk space, and each is a line of every
    checkpoint."""

    compact_at_files: Annotated[int, Check("0 (never) or 2 and more", lambda files: files == 0 or files >= 2)] = 100
    """Small files in a table at which they are compacted; 0 switches compaction off. It runs beside the cycles, in one
    consumer at a time."""

    file_mb: Annotated[int, AT_LEAST_1] = 64
    """Target size of compacted files in MB. A file below it counts as small."""
