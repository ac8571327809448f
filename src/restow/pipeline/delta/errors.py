"""The errors of Delta tables: what delta-rs raises, reduced to one line, and what sinks raise."""

import re
from typing import Final

from deltalake.exceptions import DeltaError

from restow.errors import RestowError

STORE_ERRORS: Final = (DeltaError, OSError, ValueError)
"""What delta-rs raises when a store fails or a log is damaged."""

COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
STORES_ANSWER: Final = re.compile(
    r"(<\?xml[^>]*>)?\s*<Error>.*?<Code>(.*?)</Code>.*?<Message>(.*?)</Message>.*?</Error>", re.DOTALL
)
"""The body of S3's errors."""
DEBUG: Final = "Debug source:"
"""After it obstore repeats the error, as a structure."""


class DeltaTableError(RestowError):
    """The table can't be opened, read or written now; a retry may succeed. A commit that raised this may still have
    been taken: ask `DeltaSink.settle`."""

    def of(self, table: str) -> "DeltaTableError":
        """The same error with the table's name in front."""
        return DeltaTableError(f"{table}: {self}")


class SchemasDiffer(DeltaTableError):
    """The rows of a batch can't become rows of the table."""

    def __init__(self, reason: str, table: str, batch: str) -> None:
        """Both schemas in words."""
        super().__init__(f"{reason}. The table has {table}, the batch {batch}")
        self._words = reason, table, batch

    def of(self, table: str) -> "SchemasDiffer":
        reason, *schemas = self._words
        return SchemasDiffer(f"{table}: {reason}", *schemas)


def one_line(error: Exception) -> str:
    """delta-rs formats errors as trees, with colours; obstore adds pages of details."""
    text = COLOUR.sub("", str(error)).partition(DEBUG)[0]
    return " ".join(STORES_ANSWER.sub(r"\2, \3", text).split())
