"""How long a command or the shutdown lets a running cycle finish before it is cancelled. Pure; the Spark pipeline asks.

A cancelled cycle is lost work, and a waiting command is a pause for the partitions that it moves. So a cycle that is
almost done may finish, and any other is cancelled at once: its files stay invisible, and the next owner reads the same
records again.
"""

from typing import Final

FINISH_WITHIN_S: Final = 1.5
"""Together with what cancelling takes, a command is answered within 2 s."""

SHARE_OF_GRACE: Final = 0.4
"""The share of the grace time that a running cycle gets at most while a command or the shutdown waits, however many
were cancelled before it. The rest is for ending, even if no broker answers: 6 s for the group's offsets, 10 s for the
last message to the controller."""


def patience_s(rest_s: float | None, cancelled_in_a_row: int, most_s: float) -> float:
    """`rest_s` is what the cycle will still need; None if that is unknown. It doubles with every cycle cancelled since
    one was stored, up to `most_s`: a consumer that gets a command in every cycle must get on nevertheless."""
    allowed_s = min(most_s, FINISH_WITHIN_S * 2.0 ** min(cancelled_in_a_row, 10))
    return 0.0 if rest_s is not None and rest_s > allowed_s else allowed_s
