"""How many examples property tests try: all of them in `make test`, a sample in `make quick`."""

import os
from typing import Final

SAMPLE: Final = "TESTS_SAMPLE"
"""`make quick` sets this environment variable."""
FEWEST: Final = 10
SHARE: Final = 8


def examples(wanted: int) -> int:
    """Hypothesis draws other examples in each run, so that many quick runs try as many as a whole one."""
    return max(FEWEST, wanted // SHARE) if os.environ.get(SAMPLE) else wanted
