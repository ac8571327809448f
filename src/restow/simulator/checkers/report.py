"""How checkers report violations, and when something counts as late."""

from collections.abc import Callable
from typing import Final

Report = Callable[[int, str], None]
"""Reports a violation: the number of the property, and what happened."""
LATE_S: Final = 90.0
"""Whatever takes longer is no longer merely in progress."""
