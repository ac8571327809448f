"""`[processes]`: consumers as processes of the controller's machine."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Processes:
    """`[processes]`: settings of the platform `processes`."""

    directory: str = "restow-data"
    """The directory of the consumers' volumes and logs, one directory each."""
