"""The errors of Delta tables: what delta-rs raises, reduced to one line, and what sinks raise."""

import re
from typing import Final

from deltalake.exceptions import DeltaError

from restow.errors import RestowError

STORE_ERRORS: Final = (DeltaError, OSError, ValueError)
"""What delta-rs raises when a store fails or a log is damaged."""

COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


class DeltaTableError(RestowError):
    """The table can't be opened, read or written now; a retry may succeed. A commit that raised this may still have
    been taken: ask `DeltaSink.settle`."""


def one_line(error: Exception) -> str:
    """delta-rs formats errors as trees, with colours."""
    return " ".join(COLOUR.sub("", str(error)).split())
