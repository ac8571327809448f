"""What delta-rs raises where a store or a log isn't as it should be, and how to say it in a line."""

import re
from typing import Final

from deltalake.exceptions import DeltaError

STORE_ERRORS: Final = (DeltaError, OSError, ValueError)

COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


def one_line(error: Exception) -> str:
    """delta-rs draws trees, with colours."""
    return " ".join(COLOUR.sub("", str(error)).split())
